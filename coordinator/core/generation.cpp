// SPDX-License-Identifier: MIT
#include "coordinator/core/generation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"
#include "coordinator/resume/equal_arithmetic.hpp"
#include "coordinator/resume/equal_data.hpp"
#include "job/estimate/memory_ladder.hpp"

namespace gangway::coordinator {
namespace {

std::string skip_line(const messages::SkippedUpdate& skip,
                      const std::vector<std::string>& networks) {
  const std::string line =
      fmt::format("note  step {}: an update of the {} was skipped, its gradient was not finite",
                  skip.step, networks.at(static_cast<std::size_t>(skip.network)));
  return skip.loss_scale == 1.0
             ? line
             : fmt::format("{}; its loss scale is {:g} now", line, skip.loss_scale);
}

}  // namespace

Generation::Generation(GenerationSettings settings, TimePoint start)
    : settings_(std::move(settings)),
      membership_(settings_.num_workers, start, settings_.limits, settings_.build),
      resume_protocol_(settings_.num_workers),
      leases_(settings_.leases),
      ledger_(settings_.num_workers),
      snapshots_(settings_.num_workers, 0, settings_.snapshots),
      ticks_(settings_.ticks),
      watch_(settings_.num_workers, 0, settings_.progress_floor),
      began_at_(start),
      last_clock_(start),
      told_{.of_start = start} {}

Generation::Reply Generation::take(Rank rank, const messages::Hello& hello) {
  if (auto fault = membership_.join(rank, hello)) {
    return {.fault = std::move(fault)};
  }
  messages::Welcome welcome = settings_.welcome;
  welcome.epoch = membership_.epoch();
  welcome.copies_snapshots =
      settings_.copied_by_rank_0 && *settings_.copied_by_rank_0 != hello.shared_memory;
  return {.effects = {SendMessage{.ranks = {rank}, .message = std::move(welcome)}}};
}

Effects Generation::take(Rank rank, const messages::Inventory& inventory) {
  return resume_protocol_.add(worker_of(rank), inventory)
             ? Effects{ChooseResumePoint{resume_protocol_.inventory(), /*refused_checkpoint=*/{}}}
             : Effects{};
}

Effects Generation::take(Rank rank, const messages::Loading& loading, TimePoint now) {
  membership_.loads(now);
  const auto line = resume_protocol_.loading(worker_of(rank), loading, now);
  if (!line) {
    return {};
  }
  told_.of_start = now;
  return {Say{*line}};
}

Effects Generation::take(Rank rank, const messages::Unloadable& unloadable) {
  if (!unloadable.part || unloadable.holder.value() >= settings_.num_workers) {
    return resume_protocol_.refuse(unloadable, {})
               ? Effects{ChooseResumePoint{resume_protocol_.inventory(), unloadable.reason}}
               : Effects{};
  }
  std::vector<WorkerIndex> mates;
  for (const Member& member : membership_.members()) {
    if (member.shared_memory == membership_.member(rank_of(unloadable.holder)).shared_memory) {
      mates.push_back(worker_of(member.rank));
    }
  }
  const bool is_news = resume_protocol_.refuse(unloadable, mates);
  Effects effects{Say{fmt::format("warn  {}: {}; a copy or an older state is used",
                                  membership_.describe(rank), unloadable.reason)}};
  if (is_news) {
    effects.emplace_back(ChooseResumePoint{resume_protocol_.inventory(), {}});
  }
  return effects;
}

std::optional<Fault> Generation::take(Rank rank, const messages::Ready& ready) {
  if (auto fault = membership_.ready(rank, ready)) {
    return fault;
  }
  const messages::Ready& before = ready_.message;
  if (!before.data_fingerprint.empty() && before.data_fingerprint != ready.data_fingerprint) {
    return Fault{ExitCode::kUsage, rank,
                 other_data(membership_.describe(rank), membership_.describe(ready_.rank),
                            first_difference(ready.data, before.data))};
  }
  ready_ = {.message = ready, .rank = rank};
  return std::nullopt;
}

Effects Generation::begin_with(const ResumePoint& point) {
  settings_.leases.start_step = settings_.ticks.start_step = point.step;
  settings_.leases.saved_step = settings_.ticks.checkpoint_step = point.saved_step;
  settings_.ticks.first_index = point.first_tick;
  settings_.ticks.earlier_seconds = point.earlier_seconds;
  point_ = point;
  leases_ = LeaseBook(settings_.leases);
  snapshots_ = SnapshotTracker(settings_.num_workers, point.step, settings_.snapshots);
  ticks_ = TickAccounting(settings_.ticks);
  watch_ = ProgressWatch(settings_.num_workers, point.step, settings_.progress_floor);
  return {SendMessage{.ranks = membership_.ranks(), .message = resume_protocol_.propose(point)}};
}

std::optional<Generation::Reply> Generation::begin_if_ready(TimePoint now) {
  if (has_begun_ || !membership_.all_ready()) {
    return std::nullopt;
  }
  const auto alike =
      compare_arithmetic(membership_.arithmetics(), settings_.job.layout.mixed_processors,
                         settings_.arithmetic_before.value_or(messages::Arithmetic{}));
  if (!alike.refusal.empty()) {
    return Reply{.fault = Fault{ExitCode::kEnvironment, alike.refused_rank, alike.refusal}};
  }
  ready_.message.arithmetic = alike.common;
  has_begun_ = true;
  snapshots_.set_buddies(ready_.message.has_buddies);
  ticks_.start(now);
  Reply reply;
  if (!point_.line.empty()) {
    reply.effects.emplace_back(Say{point_.line});
  }
  reply.effects.emplace_back(ShowPlacement{ready_.message, settings_.welcome.layout, point_.step});
  if (!alike.note.empty()) {
    reply.effects.emplace_back(Say{"note  " + alike.note});
  }
  return reply;
}

std::vector<GrantLease> Generation::grant(TimePoint now) {
  std::vector<GrantLease> grants;
  if (!has_begun_) {
    return grants;
  }
  for (const Lease& lease : leases_.grant(watch_.fastest_done())) {
    grants.push_back(
        {.lease = {.begin = lease.begin,
                   .end = lease.end,
                   .pictures = lease.pictures,
                   .last = lease.last,
                   .snapshots = snapshots_.due(lease.begin, lease.end, lease.checkpoint),
                   .protected_snapshot = snapshots_.complete()},
         .checkpoint_step = lease.checkpoint ? std::optional(lease.end) : std::nullopt});
    watch_.granted(lease.begin, now);
    if (lease.checkpoint) {
      ledger_.begin(lease.end, membership_.epoch());
    }
  }
  return grants;
}

Effects Generation::use(Rank rank, const messages::Progress& progress, TimePoint now) {
  const WorkerIndex worker = worker_of(rank);
  leases_.set_step_seconds(ticks_.median_step_seconds());
  snapshots_.set_step_seconds(ticks_.median_step_seconds(), seconds(now - began_at_));
  snapshots_.taken(worker, progress.snapshot, progress.snapshot_seconds);
  snapshots_.copied(worker, progress.copied_snapshot, progress.tried_snapshot);
  Effects effects;
  if (std::string news = snapshots_.news(); !news.empty()) {
    effects.emplace_back(Say{std::move(news)});
  }
  for (const messages::SkippedUpdate& skip : progress.skips) {
    if (worker == WorkerIndex()) {  // all workers report the same
      effects.emplace_back(Say{skip_line(skip, settings_.ticks.networks)});
    }
  }
  return effects;
}

Effects Generation::look_at_memory(Rank rank, const messages::MemoryFigures& memory) {
  if (early_memory_.is_over()) {
    return {};
  }
  const JobSpec& job = settings_.job;
  early_memory_.tell(rank, {.host = membership_.member(rank).host,
                            .figures = memory,
                            .computes_on_gpu = job.numerics.device == DeviceKind::kCuda});
  std::string line = early_memory_.look(ticks_.steps_done() - point_.step, [&] {
    return next_exact_rung(job, settings_.welcome.layout);
  });
  return line.empty() ? Effects() : Effects{Say{std::move(line)}};
}

void Generation::set_plan(const SteeredPlan& plan) {
  leases_.set_intervals(plan.tick_steps, plan.picture_steps, plan.checkpoint_steps);
  settings_.leases.tick_steps = settings_.ticks.tick_steps = plan.tick_steps;
  settings_.leases.picture_steps = plan.picture_steps;
  settings_.leases.checkpoint_steps = plan.checkpoint_steps;
  settings_.snapshots.every = plan.snapshot_steps;
  ticks_.set_tick_steps(plan.tick_steps);
  snapshots_.set_every(plan.snapshot_steps);
}

void Generation::end_at(std::int64_t step) {
  settings_.leases.total_steps = step;
  leases_.end_at(step);
}

void Generation::committed(std::int64_t step, TimePoint now) {
  ledger_.committed(step);
  committed_at_ = now;
  ticks_.checkpoint_committed(step);
  save_error_.clear();
}

Effects Generation::save_failed(std::int64_t step, const std::string& reason) {
  save_error_ = reason;
  return {DiscardCheckpoint{step}, Say{ledger_.failed(step, reason)}};
}

void Generation::complain(Rank rank, const messages::Stop& stop, TimePoint now) {
  const bool is_known = membership_.has(stop.accused);
  blame_.add({.rank = rank, .accused = is_known ? stop.accused : Rank(), .reason = stop.reason},
             now);
}

bool Generation::saves_before(std::int64_t step) const {
  return ledger_.is_open_before(step) &&
         std::ranges::none_of(membership_.members(), [&](const Member& member) {
           return member.state == WorkerState::kLeft && ledger_.owes(worker_of(member.rank), step);
         });
}

View Generation::view(std::optional<std::int64_t> trouble_step) const {
  View view;
  view.has_begun = has_begun_;
  view.have_all_left = membership_.all_left();
  view.is_saving = !ledger_.idle();
  view.is_committing = ledger_.is_committing();
  view.is_saving_before = trouble_step && saves_before(*trouble_step);
  view.is_restart = settings_.arithmetic_before.has_value();
  view.steps_done = ticks_.steps_done();
  view.end_step = settings_.leases.total_steps;
  view.save_error = save_error_;
  return view;
}

std::int64_t Generation::saved_step() const {
  return ledger_.last_committed().value_or(settings_.leases.saved_step);
}

std::optional<std::int64_t> Generation::unsaved_snapshot() const {
  const auto loaded = point_.snapshot ? std::optional(point_.step) : std::nullopt;
  const std::optional<std::int64_t> newest = std::max(snapshots_.complete(), loaded);
  return newest > saved_step() ? newest : std::nullopt;
}

}  // namespace gangway::coordinator
