// SPDX-License-Identifier: MIT
#include "coordinator/mind/conductor.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/time.hpp"
#include "coordinator/resume/equal_data.hpp"

namespace gangway::coordinator {
namespace {

void append(Effects& effects, Effects more) {
  effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

std::string told(const messages::SkippedUpdate& skip, const std::vector<std::string>& networks) {
  const std::string line =
      fmt::format("note  step {}: an update of the {} was skipped, its gradient was not finite",
                  skip.step, networks.at(static_cast<std::size_t>(skip.network)));
  return skip.loss_scale == 1.0
             ? line
             : fmt::format("{}; its loss scale is {:g} now", line, skip.loss_scale);
}

}  // namespace

Conductor::Conductor(ConductorSettings settings, TimePoint start)
    : settings_(std::move(settings)),
      membership_(settings_.num_workers, start, settings_.limits, settings_.build),
      start_(settings_.num_workers),
      leases_(settings_.leases),
      ledger_(settings_.num_workers),
      saves_(settings_.save_interval),
      snapshots_(settings_.num_workers, 0, settings_.snapshots),
      ticks_(settings_.ticks),
      watch_(settings_.num_workers, 0, settings_.progress_floor),
      troubles_(settings_.divergence, settings_.watched),
      watch_memory_(settings_.watch_memory),
      scores_(settings_.scores),
      num_recorded_(settings_.decisions.size()),
      began_at_(start),
      last_clock_(start),
      balancer_(settings_.balance) {}

Effects Conductor::on_message(int rank, const messages::Envelope& envelope, TimePoint now,
                              double unix_seconds) {
  if (ended_ || end_when_recorded_ || rank < 1 || rank > settings_.num_workers) {
    return {};
  }
  const Arrival arrival{rank, envelope.epoch, now, unix_seconds};
  try {
    return std::visit([&](const auto& message) { return take(message, arrival); },
                      envelope.message);
  } catch (const DivergedError& error) {
    return hold_back({.step = error.step(), .what = error.what()}, ticks_.diverged_rank(), now);
  } catch (const Error& error) {
    return end(error.code(), rank, error.what());
  }
}

Effects Conductor::take(const messages::Hello& hello, const Arrival& arrival) {
  if (const auto fault = membership_.join(arrival.rank, hello)) {
    return end(fault->code, fault->rank, fault->reason);
  }
  messages::Welcome welcome = settings_.welcome;
  welcome.epoch = membership_.epoch();
  welcome.copies_snapshots =
      settings_.copied_by_rank_0 && *settings_.copied_by_rank_0 != hello.shared_memory;
  return {SendMessage{.ranks = {arrival.rank}, .message = std::move(welcome)}};
}

Effects Conductor::take(const messages::Inventory& inventory, const Arrival& arrival) {
  if (!start_.add(arrival.rank - 1, inventory)) {
    return {};
  }
  return {ChooseResumePoint{.inventory = start_.inventory(), .refused_checkpoint = {}}};
}

Effects Conductor::take(const messages::Loading& loading, const Arrival& arrival) {
  membership_.loads(arrival.now);
  const auto line = start_.loading(arrival.rank - 1, loading, arrival.now);
  return line ? Effects{Say{*line}} : Effects{};
}

Effects Conductor::take(const messages::Picture& picture, const Arrival& arrival) {
  watch_.lively(arrival.now);
  constexpr std::size_t kListed = 200;  // the page copies the list each second
  if (pictures_.size() == kListed) {
    pictures_.erase(pictures_.begin());
  }
  pictures_.push_back(picture.file);
  return {ShowPicture{picture}};
}

Effects Conductor::take(const messages::Welcome& welcome, const Arrival& arrival) {
  return refuse(welcome.kName, arrival);
}

Effects Conductor::take(const messages::Begin& begin, const Arrival& arrival) {
  return refuse(begin.kName, arrival);
}

Effects Conductor::take(const messages::Lease& lease, const Arrival& arrival) {
  return refuse(lease.kName, arrival);
}

Effects Conductor::take(const messages::Patience& patience, const Arrival& arrival) {
  return refuse(patience.kName, arrival);
}

Effects Conductor::refuse(std::string_view name, const Arrival& arrival) {
  return end(ExitCode::kInternal, arrival.rank,
             fmt::format("{} sent a message of kind {}, which only the coordinator sends",
                         membership_.describe(arrival.rank), name));
}

Effects Conductor::begin_with(const ResumePoint& point) {
  settings_.leases.start_step = settings_.ticks.start_step = point.step;
  settings_.leases.saved_step = settings_.ticks.checkpoint_step = point.saved_step;
  settings_.ticks.first_index = point.first_tick;
  settings_.ticks.earlier_seconds = point.earlier_seconds;
  looked_at_ = begin_step_ = point.step;
  begin_line_ = point.line;
  begin_snapshot_ = point.snapshot ? std::optional(point.step) : std::nullopt;
  leases_ = LeaseBook(settings_.leases);
  leases_.hold_at(scores_.gate(settings_.decisions, begin_step_));
  if (settings_.pause) {
    leases_.pause();
  }
  snapshots_ = SnapshotBook(settings_.num_workers, point.step, settings_.snapshots);
  ticks_ = TickAccounting(settings_.ticks);
  watch_ = ProgressWatch(settings_.num_workers, point.step, settings_.progress_floor);
  recall_at(point.step);
  return {SendMessage{.ranks = membership_.ranks(), .message = start_.propose(point)}};
}

Effects Conductor::take(const messages::Unloadable& unloadable, const Arrival& arrival) {
  if (!unloadable.part || unloadable.holder >= settings_.num_workers) {
    return start_.refuse(unloadable, {})
               ? Effects{ChooseResumePoint{start_.inventory(), unloadable.reason}}
               : Effects{};
  }
  std::vector<int> mates;
  for (const Member& member : membership_.members()) {
    if (member.shared_memory == membership_.member(unloadable.holder + 1).shared_memory) {
      mates.push_back(member.rank - 1);
    }
  }
  const bool is_news = start_.refuse(unloadable, mates);
  Effects effects{Say{fmt::format("warn  {}: {}; a copy or an older state is used",
                                  membership_.describe(arrival.rank), unloadable.reason)}};
  if (is_news) {
    effects.emplace_back(ChooseResumePoint{start_.inventory(), {}});
  }
  return effects;
}

Effects Conductor::take(const messages::Ready& ready, const Arrival& arrival) {
  const int rank = arrival.rank;
  if (const auto fault = membership_.ready(rank, ready)) {
    return end(fault->code, fault->rank, fault->reason);
  }
  if (!ready_.data_fingerprint.empty() && ready_.data_fingerprint != ready.data_fingerprint) {
    return end(ExitCode::kUsage, rank,
               other_data(membership_.describe(rank), membership_.describe(ready_rank_),
                          first_difference(ready.data, ready_.data)));
  }
  ready_ = ready;
  ready_rank_ = rank;
  return begin_if_ready(arrival.now);
}

Effects Conductor::begin_if_ready(TimePoint now) {
  if (begun_ || !membership_.all_ready()) {
    return {};
  }
  const auto verdict =
      compare_arithmetic(membership_.arithmetics(), settings_.job.layout.mixed_processors,
                         settings_.arithmetic_before.value_or(messages::Arithmetic{}));
  if (!verdict.refusal.empty()) {
    return end(ExitCode::kEnvironment, verdict.refused_rank, verdict.refusal);
  }
  ready_.arithmetic = verdict.common;
  begun_ = true;
  snapshots_.set_buddies(ready_.has_buddies);
  ticks_.start(now);
  saves_.granted(now);
  Effects effects;
  if (!begin_line_.empty()) {
    effects.emplace_back(Say{begin_line_});
  }
  effects.emplace_back(ShowPlacement{ready_, settings_.welcome.layout, begin_step_});
  if (!verdict.note.empty()) {
    effects.emplace_back(Say{"note  " + verdict.note});
  }
  if (const auto step = scores_.unscored(settings_.decisions, begin_step_)) {
    effects.emplace_back(ScoreCheckpoint{*step});
  }
  if (settings_.pause) {
    effects.emplace_back(Say{fmt::format("note  paused, as {} asked: gangway resume {} goes on",
                                         settings_.pause->by, settings_.welcome.run_directory)});
  }
  append(effects, grant(now));
  return effects;
}

Effects Conductor::take(const messages::Progress& progress, const Arrival& arrival) {
  if (arrival.epoch != membership_.epoch()) {
    return {};
  }
  const int worker = arrival.rank - 1;
  Effects effects;
  watch_.stepped(arrival.rank, progress.step, arrival.now);
  if (held_back_ && progress.step >= held_back_->trouble.step) {
    return answer_when_due(arrival.now);  // steps after trouble are void
  }
  auto tick = ticks_.add(arrival.rank, progress, arrival.now, arrival.unix_seconds);
  Effects troubles = look_for_trouble(tick, arrival.now);
  append(effects, look_at_memory(arrival.rank, progress.memory));
  if (tick) {
    first_memory_.end();
    last_tick_ = *tick;
    effects.emplace_back(ShowTick{std::move(*tick)});
  }
  append(effects, std::move(troubles));
  append(effects, answer_when_due(arrival.now));
  if (ended_ || end_when_recorded_) {
    return effects;
  }
  leases_.set_step_seconds(ticks_.median_step_seconds());
  snapshots_.set_step_seconds(ticks_.median_step_seconds(), seconds(arrival.now - began_at_));
  snapshots_.taken(worker, progress.snapshot, progress.snapshot_seconds);
  snapshots_.copied(worker, progress.copied_snapshot, progress.tried_snapshot);
  if (std::string news = snapshots_.news(); !news.empty()) {
    effects.emplace_back(Say{std::move(news)});
  }
  for (const messages::SkippedUpdate& skip : progress.skips) {
    if (worker == 0) {  // all workers report the same
      effects.emplace_back(Say{told(skip, settings_.ticks.networks)});
    }
  }
  if (tick) {
    append(effects, balance(arrival.now, arrival.unix_seconds));
  }
  append(effects, grant(arrival.now));
  return effects;
}

Effects Conductor::grant(TimePoint now) {
  Effects effects;
  if (!begun_ || held_back_ || end_when_recorded_) {
    return effects;
  }
  for (const Lease& lease : leases_.grant(watch_.fastest_done())) {
    GrantLease granted{
        .lease = {.begin = lease.begin,
                  .end = lease.end,
                  .pictures = lease.pictures,
                  .last = lease.last,
                  .snapshots = snapshots_.due(lease.begin, lease.end, lease.checkpoint),
                  .protected_snapshot = snapshots_.complete(),
                  .changes = std::exchange(untold_, {}),
                  .trace = std::exchange(untold_trace_, {})}};
    watch_.granted(lease.begin, now);
    remember_at(granted.lease, lease.checkpoint);
    if (lease.checkpoint) {
      granted.checkpoint_step = lease.end;
      ledger_.begin(lease.end, membership_.epoch());
      saves_.granted(now);
    }
    effects.emplace_back(std::move(granted));
  }
  return effects;
}

Effects Conductor::take(const messages::CheckpointPart& part, const Arrival& arrival) {
  if (part.under_way) {
    watch_.wrote(arrival.rank, arrival.now);
    return {};
  }
  watch_.lively(arrival.now);
  if (held_back_ && part.step >= held_back_->trouble.step) {
    return {};  // void: a slower disk or another layout would deliver it too late
  }
  auto complete = ledger_.add(arrival.rank - 1, arrival.epoch, part);
  if (!complete) {
    return {};
  }
  if (!complete->error.empty()) {
    return checkpoint_failed(complete->step, complete->error, arrival.now);
  }
  return {CommitCheckpoint{std::move(*complete)}};
}

Effects Conductor::checkpoint_committed(std::int64_t step, TimePoint now) {
  ledger_.committed(step);
  committed_at_ = now;
  ticks_.checkpoint_committed(step);
  last_save_error_.clear();
  Effects effects = pin_at(step);
  append(effects, answer_when_due(now));
  append(effects, finish_if_done());
  return effects;
}

Effects Conductor::checkpoint_failed(std::int64_t step, const std::string& reason, TimePoint now) {
  Effects effects{DiscardCheckpoint{step}, Say{ledger_.failed(step, reason)}};
  saves_.failed(ledger_.failures_in_a_row(), now);
  last_save_error_ = reason;
  append(effects, scored({.step = step, .value = {}}));  // training must not wait for its score
  append(effects, answer_when_due(now));
  append(effects, finish_if_done());
  return effects;
}

Effects Conductor::take(const messages::Goodbye& /*goodbye*/, const Arrival& arrival) {
  membership_.leave(arrival.rank);
  if (!leases_.last_granted()) {
    return end(ExitCode::kInternal, arrival.rank,
               fmt::format("{} left before its last lease", membership_.describe(arrival.rank)));
  }
  return finish_if_done();
}

Effects Conductor::on_lifeline_opened(int rank, TimePoint now) {
  if (ended_ || rank < 1 || rank > settings_.num_workers) {
    return {};
  }
  membership_.lifeline_opened(rank, now);
  return begin_if_ready(now);
}

void Conductor::on_heartbeat(int rank, Pulse pulse, TimePoint now) {
  membership_.heartbeat(rank, pulse, now);
}

void Conductor::on_lifeline_closed(int rank, TimePoint now) {
  // on_clock gives the verdict, because a Stop with the reason may still arrive.
  membership_.lifeline_closed(rank, now);
}

Effects Conductor::lose(const Fault& fault) {
  if (fault.rank > 0) {
    membership_.lose(fault.rank);
  }
  return end(fault.code, fault.rank, fault.reason);
}

Effects Conductor::end(ExitCode code, int rank, const std::string& reason) {
  // If a replacement host cannot run the job, a later start may do without that host.
  const bool is_of_a_host = settings_.arithmetic_before && !begun_ && rank > 0 &&
                            (code == ExitCode::kUsage || code == ExitCode::kEnvironment);
  return end_with(
      Outcome{.exit_code = static_cast<int>(is_of_a_host ? ExitCode::kWorkerLost : code),
              .reason = reason,
              .rank = rank,
              .step = ticks_.steps_done(),
              .orderly = false});
}

Effects Conductor::end_with(Outcome outcome) {
  Effects effects;
  ended_ = true;
  if (!outcome.orderly) {
    const std::optional<std::int64_t> newest = std::max(snapshots_.complete(), begin_snapshot_);
    const std::int64_t saved = ledger_.last_committed().value_or(settings_.leases.saved_step);
    if (newest > saved && outcome.exit_code != static_cast<int>(ExitCode::kDiverged)) {
      outcome.unsaved_snapshot = newest;
    }
    const bool starts_again =
        settings_.welcome.goes_on && outcome.exit_code == static_cast<int>(ExitCode::kWorkerLost);
    outcome.keeps = settings_.copied_by_rank_0 && outcome.unsaved_snapshot && !starts_again;
    SendMessage stop{.message = messages::Stop{.exit_code = outcome.exit_code,
                                               .reason = outcome.reason,
                                               .keep = outcome.keeps}};
    for (const Member& member : membership_.members()) {
      if (member.state != WorkerState::kLost && member.state != WorkerState::kLeft) {
        stop.ranks.push_back(member.rank);
      }
    }
    effects.emplace_back(std::move(stop));
  }
  effects.emplace_back(EndJob{std::move(outcome)});
  return effects;
}

}  // namespace gangway::coordinator
