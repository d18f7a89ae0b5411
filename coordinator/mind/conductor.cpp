// SPDX-License-Identifier: MIT
#include "coordinator/mind/conductor.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "coordinator/mind/message_values.hpp"

namespace gangway::coordinator {
namespace {

void append(Effects& effects, Effects more) {
  effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

}  // namespace

Conductor::Conductor(ConductorSettings settings, TimePoint start)
    : settings_(std::move(settings)),
      membership_(settings_.num_workers, start, settings_.limits),
      start_(settings_.num_workers),
      leases_(settings_.leases),
      ledger_(settings_.num_workers),
      saves_(settings_.save_interval),
      snapshots_(settings_.num_workers, 0, settings_.snapshot_steps),
      ticks_(settings_.ticks),
      watch_(settings_.num_workers, 0, settings_.progress_floor),
      last_clock_(start) {}

Effects Conductor::on_message(int rank, const messages::Envelope& envelope, TimePoint now,
                              double unix_seconds) {
  if (ended_ || rank < 1 || rank > settings_.num_workers) {
    return {};
  }
  try {
    switch (envelope.body_case()) {
      case messages::Envelope::kHello:
        return on_hello(rank, envelope.hello());
      case messages::Envelope::kInventory:
        return on_inventory(rank, envelope.inventory());
      case messages::Envelope::kLoading: {
        membership_.loads(now);
        const auto line = start_.loading(rank - 1, envelope.loading(), now);
        return line ? Effects{Say{*line}} : Effects{};
      }
      case messages::Envelope::kUnloadable:
        return on_unloadable(rank, envelope.unloadable());
      case messages::Envelope::kReady:
        return on_ready(rank, envelope.ready(), now);
      case messages::Envelope::kProgress:
        return on_progress(rank, envelope.progress(), now, unix_seconds);
      case messages::Envelope::kCheckpointPart:
        return on_part(rank, envelope.checkpoint_part(), now);
      case messages::Envelope::kPicture:
        watch_.lively(now);
        return {ShowPicture{envelope.picture().step(), envelope.picture().file()}};
      case messages::Envelope::kStop:
        return on_stop(rank, envelope.stop(), now);
      case messages::Envelope::kGoodbye:
        return on_goodbye(rank);
      default:
        return end(ExitCode::kInternal, rank,
                   fmt::format("{} sent a message of kind {}, which only the coordinator sends",
                               membership_.describe(rank), static_cast<int>(envelope.body_case())));
    }
  } catch (const Error& error) {
    return end(error.code(), rank, error.what());
  }
}

Effects Conductor::on_hello(int rank, const messages::Hello& hello) {
  Member facts;
  facts.rank = rank;
  facts.host = hello.host();
  facts.pid = hello.pid();
  facts.process = {.boot_id = hello.boot_id(),
                   .pid_namespace = hello.pid_namespace(),
                   .pid = hello.pid(),
                   .start_ticks = hello.start_ticks()};
  facts.shared_memory = hello.shared_memory();
  facts.device = hello.device();
  if (const auto fault = membership_.join(facts, hello.protocol())) {
    return end(fault->code, fault->rank, fault->reason);
  }
  SendEnvelope send{.rank = rank, .envelope = {}};
  *send.envelope.mutable_welcome() = settings_.welcome;
  send.envelope.mutable_welcome()->set_epoch(membership_.epoch());
  return {std::move(send)};
}

Effects Conductor::on_inventory(int rank, const messages::Inventory& inventory) {
  if (!start_.add(rank - 1, inventory)) {
    return {};
  }
  return {ChooseBeginning{.inventory = start_.inventory(), .refused_checkpoint = {}}};
}

Effects Conductor::begin_with(const Beginning& beginning) {
  settings_.leases.start_step = settings_.ticks.start_step = beginning.step;
  settings_.leases.saved_step = settings_.ticks.checkpoint_step = beginning.saved_step;
  settings_.ticks.first_index = beginning.first_tick;
  settings_.ticks.earlier_seconds = beginning.earlier_seconds;
  begin_line_ = beginning.line;
  begin_snapshot_ = beginning.snapshot ? beginning.step : -1;
  leases_ = LeaseBook(settings_.leases);
  snapshots_ = SnapshotBook(settings_.num_workers, beginning.step, settings_.snapshot_steps);
  ticks_ = TickAccounting(settings_.ticks);
  watch_ = ProgressWatch(settings_.num_workers, beginning.step, settings_.progress_floor);
  const messages::Begin begin = start_.propose(beginning, membership_.epoch());
  Effects effects;
  for (const Member& member : membership_.members()) {
    SendEnvelope send{.rank = member.rank, .envelope = {}};
    *send.envelope.mutable_begin() = begin;
    effects.emplace_back(std::move(send));
  }
  return effects;
}

Effects Conductor::on_unloadable(int rank, const messages::Unloadable& unloadable) {
  const bool is_checkpoint = unloadable.part() < 0;
  if (is_checkpoint || unloadable.holder() < 0 || unloadable.holder() >= settings_.num_workers) {
    return start_.refuse(unloadable, {})
               ? Effects{ChooseBeginning{start_.inventory(), unloadable.reason()}}
               : Effects{};
  }
  std::vector<int> mates;
  for (const Member& member : membership_.members()) {
    if (member.shared_memory == membership_.member(unloadable.holder() + 1).shared_memory) {
      mates.push_back(member.rank - 1);
    }
  }
  const bool is_news = start_.refuse(unloadable, mates);
  Effects effects{Say{fmt::format("warn  {}: {}; a copy or an older state is used",
                                  membership_.describe(rank), unloadable.reason())}};
  if (is_news) {
    effects.emplace_back(ChooseBeginning{start_.inventory(), {}});
  }
  return effects;
}

Effects Conductor::on_ready(int rank, const messages::Ready& ready, TimePoint now) {
  if (const auto fault = membership_.ready(rank, ready.plan_hash())) {
    return end(fault->code, fault->rank, fault->reason);
  }
  if (!placement_.data_fingerprint.empty() &&
      placement_.data_fingerprint != ready.data_fingerprint()) {
    return end(ExitCode::kUsage, rank,
               fmt::format("{} sees other examples than the workers before it: data.source must be "
                           "the same on every host",
                           membership_.describe(rank)));
  }
  has_buddies_ = ready.has_buddies();
  placement_ = ShowPlacement{.plan_summary = ready.plan_summary(),
                             .generator_parameters = ready.generator_parameters(),
                             .discriminator_parameters = ready.discriminator_parameters(),
                             .data_fingerprint = ready.data_fingerprint(),
                             .libtorch = ready.libtorch()};
  return begin_if_ready(now);
}

Effects Conductor::begin_if_ready(TimePoint now) {
  if (begun_ || !membership_.all_ready()) {
    return {};
  }
  begun_ = true;
  snapshots_.set_buddies(has_buddies_);
  ticks_.start(now);
  saves_.granted(now);
  Effects effects;
  if (!begin_line_.empty()) {
    effects.emplace_back(Say{begin_line_});
  }
  effects.emplace_back(placement_);
  append(effects, grant(now));
  return effects;
}

Effects Conductor::on_progress(int rank, const messages::Progress& progress, TimePoint now,
                               double unix_seconds) {
  if (progress.epoch() != membership_.epoch()) {
    return {};
  }
  Effects effects;
  watch_.stepped(rank, progress.step(), now);
  if (auto tick = ticks_.add(step_progress(rank, progress), now, unix_seconds)) {
    effects.emplace_back(ShowTick{*tick});
  }
  leases_.set_step_seconds(ticks_.median_step_seconds());
  snapshots_.set_step_seconds(ticks_.median_step_seconds());
  snapshots_.taken(rank - 1, progress.snapshot(), progress.snapshot_seconds());
  snapshots_.copied(rank - 1, progress.copied_snapshot(), progress.tried_snapshot());
  append(effects, grant(now));
  return effects;
}

Effects Conductor::grant(TimePoint now) {
  Effects effects;
  if (!begun_) {
    return effects;
  }
  for (const Lease& lease : leases_.grant(watch_.fastest_done())) {
    messages::Envelope envelope;
    messages::Lease& message = *envelope.mutable_lease();
    message.set_epoch(membership_.epoch());
    message.set_begin(lease.begin);
    message.set_end(lease.end);
    message.set_pictures(lease.pictures);
    message.set_last(lease.last);
    message.set_protected_snapshot(snapshots_.complete());
    for (const std::int64_t step : snapshots_.due(lease.begin, lease.end, lease.checkpoint)) {
      message.add_snapshots(step);
    }
    watch_.granted(lease.begin, now);
    if (lease.checkpoint) {
      ledger_.begin(lease.end, membership_.epoch());
      saves_.granted(now);
    }
    effects.emplace_back(GrantLease{.envelope = std::move(envelope),
                                    .checkpoint_step = lease.checkpoint ? lease.end : -1});
  }
  return effects;
}

Effects Conductor::on_part(int rank, const messages::CheckpointPart& part, TimePoint now) {
  if (part.under_way()) {
    watch_.wrote(rank, now);
    return {};
  }
  watch_.lively(now);
  auto complete = ledger_.add(part.step(), part.epoch(), checkpoint_file(part));
  if (!complete) {
    return {};
  }
  if (!complete->error.empty()) {
    return checkpoint_failed(complete->step, complete->error, now);
  }
  return {CommitCheckpoint{std::move(*complete)}};
}

Effects Conductor::checkpoint_committed(std::int64_t step, TimePoint /*now*/) {
  ledger_.committed(step);
  ticks_.checkpoint_committed(step);
  last_save_error_.clear();
  return finish_if_done();
}

Effects Conductor::checkpoint_failed(std::int64_t step, const std::string& reason, TimePoint now) {
  Effects effects{DiscardCheckpoint{step}, Say{ledger_.failed(step, reason)}};
  saves_.failed(ledger_.failures_in_a_row(), now);
  last_save_error_ = reason;
  append(effects, finish_if_done());
  return effects;
}

Effects Conductor::on_stop(int rank, const messages::Stop& stop, TimePoint now) {
  const auto code = static_cast<ExitCode>(stop.exit_code());
  if (code != ExitCode::kWorkerLost) {
    return end(code, rank, fmt::format("{}: {}", membership_.describe(rank), stop.reason()));
  }
  // A complaint about a silent peer may overtake the news of that peer's death: the dead one is the
  // root cause.
  membership_.leave(rank);
  const bool is_known = stop.accused() >= 1 && stop.accused() <= settings_.num_workers;
  blame_.add({.rank = rank, .accused = is_known ? stop.accused() : 0, .reason = stop.reason()},
             now);
  return {};
}

Effects Conductor::on_goodbye(int rank) {
  membership_.leave(rank);
  if (!leases_.last_granted()) {
    return end(ExitCode::kInternal, rank,
               fmt::format("{} left before its last lease", membership_.describe(rank)));
  }
  return finish_if_done();
}

Effects Conductor::finish_if_done() {
  if (ended_ || !membership_.all_left() || ledger_.is_committing()) {
    return {};
  }
  Outcome outcome{
      .exit_code = 0, .reason = "done", .rank = 0, .step = ticks_.steps_done(), .orderly = true};
  if (!ledger_.idle()) {
    // The parts come before the Goodbye on the same way: what is missing now never comes.
    outcome.exit_code = static_cast<int>(ExitCode::kInternal);
    outcome.reason = "the workers left before they had reported their last checkpoint";
  } else if (!last_save_error_.empty()) {
    outcome.exit_code = leave_signal_ ? 128 + (*leave_signal_ == SIGINT ? SIGINT : SIGTERM)
                                      : static_cast<int>(ExitCode::kEnvironment);
    outcome.reason = "the last checkpoint could not be saved: " + last_save_error_;
  } else if (leave_signal_ && ticks_.steps_done() < settings_.leases.total_steps) {
    outcome.exit_code = static_cast<int>(ExitCode::kPreempted);
    outcome.reason =
        fmt::format("stopped on request and saved at step {}: {}", outcome.step, settings_.go_on);
  }
  return end_with(std::move(outcome));
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
  // The verdict falls in on_clock: a Stop that says why may still be on its way.
  membership_.lifeline_closed(rank, now);
}

Effects Conductor::on_request(Request request, int signal, TimePoint now) {
  if (ended_) {
    return {};
  }
  if (request == Request::kEndNow) {
    Effects effects;
    append(effects, end_with(Outcome{.exit_code = 128 + signal,
                                     .reason = "ended at once on request, without a save",
                                     .rank = 0,
                                     .step = ticks_.steps_done(),
                                     .orderly = false}));
    return effects;
  }
  if (request == Request::kSaveAndGoOn) {
    leases_.request_checkpoint();
    return grant(now);
  }
  if (leave_signal_) {
    return {};
  }
  leave_signal_ = signal;
  if (!begun_) {
    return end(ExitCode::kPreempted, 0,
               "stopped on request before the first step: the same command goes on");
  }
  leases_.request_stop();
  Effects effects{Say{"note  stopping on request: saves at the next lease boundary"}};
  append(effects, grant(now));
  return effects;
}

Effects Conductor::lose(const Fault& fault) {
  // The seam of recovery: a decision other than kEndJob will answer with a new Welcome under the
  // new epoch.
  if (fault.rank > 0) {
    const MembershipChange change = membership_.lose(fault.rank);
    if (change.decision != LossDecision::kEndJob) {
      throw InvariantError("a loss was decided in a way that nobody carries out");
    }
  }
  return end(fault.code, fault.rank, fault.reason);
}

Effects Conductor::end(ExitCode code, int rank, const std::string& reason) {
  return end_with(Outcome{.exit_code = static_cast<int>(code),
                          .reason = reason,
                          .rank = rank,
                          .step = ticks_.steps_done(),
                          .orderly = false});
}

Effects Conductor::end_with(Outcome outcome) {
  Effects effects;
  ended_ = true;
  if (!outcome.orderly) {
    const std::int64_t newest = std::max(snapshots_.complete(), begin_snapshot_);
    const std::int64_t saved = ledger_.last_committed().value_or(settings_.leases.saved_step);
    if (newest > saved && outcome.exit_code != static_cast<int>(ExitCode::kDiverged)) {
      outcome.unsaved_snapshot = newest;
    }
    for (const Member& member : membership_.members()) {
      if (member.state != WorkerState::kLost && member.state != WorkerState::kLeft) {
        SendEnvelope send{.rank = member.rank, .envelope = {}};
        messages::Stop& stop = *send.envelope.mutable_stop();
        stop.set_epoch(membership_.epoch());
        stop.set_exit_code(outcome.exit_code);
        stop.set_reason(outcome.reason);
        effects.emplace_back(std::move(send));
      }
    }
  }
  effects.emplace_back(EndJob{std::move(outcome)});
  return effects;
}

}  // namespace gangway::coordinator
