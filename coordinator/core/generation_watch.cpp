// SPDX-License-Identifier: MIT
// The Generation's reactions to the clock, and its status.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "coordinator/core/generation.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {
namespace {

// The clock ticks every few milliseconds. During a longer gap (a slow disk, a stopped process) the
// coordinator reads nothing: the workers' silence does not count.
constexpr std::chrono::milliseconds kOwnStall{1000};
// Longest silence on the terminal before the first tick.
constexpr std::chrono::seconds kTellOfStart{10};

std::string state_text(WorkerState state) {
  switch (state) {
    case WorkerState::kExpected:
      return "expected";
    case WorkerState::kJoined:
      return "joined";
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kLeft:
      return "left";
    case WorkerState::kLost:
      return "lost";
  }
  return "unknown";
}

}  // namespace

void Generation::forgive_own_stall(TimePoint now) {
  const auto gap = now - last_clock_;
  last_clock_ = now;
  if (gap < kOwnStall) {
    return;
  }
  membership_.forgive(gap, now);
  watch_.forgive(gap, now);
  blame_.forgive(gap, now);
}

std::optional<Fault> Generation::find_fault(TimePoint now) {
  if (auto fault = membership_.check(now)) {
    return fault;
  }
  if (auto fault = blame_.verdict(membership_, now)) {
    return fault;
  }
  if (auto fault = check_progress(now)) {
    return fault;
  }
  return check_last_manifest(now);
}

Effects Generation::look_after(TimePoint now) {
  Effects effects = name_late_workers(now);
  append(effects, comfort_waiting_workers(now));
  append(effects, tell_of_start(now));
  if (auto line = ledger_.overdue(now, watch_.slowest_done(), settings_.save_alarm)) {
    effects.emplace_back(Say{std::move(*line)});
  }
  return effects;
}

Effects Generation::comfort_waiting_workers(TimePoint now) {
  if (!has_begun_ || !leases_.is_held()) {
    held_since_.reset();
    return {};
  }
  held_since_ = held_since_.value_or(now);
  if (now - *held_since_ < kLeaseDeadline / 4) {
    return {};
  }
  held_since_ = now;
  SendMessage patience{.message = messages::Patience{}};
  for (const Member& member : membership_.members()) {
    if (member.state == WorkerState::kReady) {
      patience.ranks.push_back(member.rank);
    }
  }
  return {std::move(patience)};
}

Effects Generation::tell_of_start(TimePoint now) {
  const bool is_held = has_begun_ && leases_.is_held();  // paused, or waits for a score
  if (is_held || !ticks_.last_means().empty() || now - told_.of_start < kTellOfStart) {
    return {};
  }
  told_.of_start = now;
  std::string what;
  if (const std::int64_t done = ticks_.steps_done(); done > point_.step) {
    const std::int64_t tick_steps = std::max<std::int64_t>(1, settings_.ticks.tick_steps);
    const std::int64_t end =
        std::min((point_.step / tick_steps + 1) * tick_steps, settings_.leases.total_steps);
    what = fmt::format("the first tick: {} of {} steps", done - point_.step, end - point_.step);
  } else {
    const auto& members = membership_.members();
    const JobPhase phase = has_begun_ ? JobPhase::kTraining : JobPhase::kStarting;
    what = fmt::format(
        "{}: {} of {} workers ready", wait_before_first_step(phase, worker_statuses()),
        std::ranges::count(members, WorkerState::kReady, &Member::state), members.size());
  }
  return {Say{fmt::format("wait   for {} after {:.0f} s", what, seconds(now - began_at_))}};
}

std::optional<std::chrono::duration<double>> Generation::until_end() const {
  const double step_seconds = ticks_.median_step_seconds();
  if (step_seconds <= 0.0) {
    return std::nullopt;
  }
  const auto left = static_cast<double>(settings_.leases.total_steps - watch_.slowest_done());
  return std::chrono::duration<double>(left * step_seconds);
}

std::optional<Fault> Generation::check_last_manifest(TimePoint now) {
  if (!membership_.all_left()) {
    return std::nullopt;
  }
  all_left_ = all_left_.value_or(now);
  if (now - *all_left_ < settings_.save_floor) {
    return std::nullopt;
  }
  return Fault{
      ExitCode::kEnvironment, Rank(),
      "the manifest of the last checkpoint does not get onto the disk: look at the disk of "
      "the run directory, then start the same command again"};
}

bool Generation::is_writing_its_last(Rank rank) const {
  return leases_.last_granted() && watch_.done(rank) >= leases_.granted_end() &&
         ledger_.owes(worker_of(rank));
}

std::optional<std::chrono::milliseconds> Generation::time_beyond(Rank rank) const {
  if (membership_.member(rank).state != WorkerState::kReady) {
    return std::nullopt;
  }
  if (leases_.is_held() && watch_.done(rank) >= leases_.granted_end()) {
    return std::nullopt;  // it waits for a score, or is paused
  }
  return is_writing_its_last(rank) ? settings_.save_floor : std::chrono::milliseconds(0);
}

Effects Generation::name_late_workers(TimePoint now) {
  const double usual = ticks_.median_step_seconds();
  const auto late =
      watch_.find(now, watch_.notable(usual), [this](Rank rank) { return time_beyond(rank); });
  if (!late || late->step <= told_.late_step) {
    return {};
  }
  std::vector<std::string> names;
  std::size_t num_ready = 0;
  for (const Member& member : membership_.members()) {
    num_ready += member.state == WorkerState::kReady ? 1 : 0;
    if (member.state == WorkerState::kReady && !waits(member, now)) {
      names.push_back(membership_.describe(member.rank));
    }
  }
  if (names.size() == num_ready) {
    return {};  // all compute, on busy cores perhaps: no worker holds up the others
  }
  told_.late_step = late->step;
  return {Say{fmt::format(
      "note   no step since step {} for {:.1f} s, {:.2f} s is usual: {}", late->step, late->seconds,
      usual,
      names.empty()
          ? "all workers wait for messages of one another; see if their hosts or the network are "
            "busy (top, gangway doctor)"
          : fmt::format("the others wait for {}; see what else uses its cores or disk (top)",
                        fmt::join(names, ", ")))}};
}

std::optional<Fault> Generation::check_progress(TimePoint now) const {
  const auto silence = watch_.find(now, watch_.deadline(ticks_.median_step_seconds()),
                                   [this](Rank rank) { return time_beyond(rank); });
  if (!silence) {
    return std::nullopt;
  }
  if (is_writing_its_last(silence->rank)) {
    return Fault{ExitCode::kEnvironment, silence->rank,
                 fmt::format("{} has brought nothing of the last checkpoint to its disk for {:.0f} "
                             "s: look at the disk, then start the same command again",
                             membership_.describe(silence->rank), silence->seconds)};
  }
  return Fault{
      ExitCode::kWorkerLost, silence->rank,
      fmt::format(
          "{} made no progress for {:.0f} s after step {}: hung, or waiting for another rank",
          membership_.describe(silence->rank), silence->seconds, silence->step)};
}

std::vector<WorkerStatus> Generation::worker_statuses() const {
  const Layout& layout = settings_.welcome.layout;
  const PerNetwork<std::string> networks = settings_.job.network_names();
  const bool is_apart = layout.is_apart();
  std::vector<WorkerStatus> workers;
  for (const Member& member : membership_.members()) {
    WorkerStatus worker{
        .rank = member.rank,
        .host = member.host,
        .device = member.device,
        .pid = member.process.pid,
        .state = state_text(member.state),
        .microbatches = layout.range_of(worker_of(member.rank).value()),
        .networks = is_apart ? layout.held_by(worker_of(member.rank).value(), networks) : "",
        .steps_done = watch_.done(member.rank)};
    const auto means = ticks_.last_means().find(member.rank);
    if (means != ticks_.last_means().end()) {
      worker.work_seconds_per_step = means->second.work_seconds;
      worker.wait_seconds_per_step = means->second.wait_seconds;
      worker.data_seconds_per_step = means->second.data_seconds;
      worker.memory = means->second.memory;
      worker.gauges = means->second.gauges;
      worker.sent_mib_per_step = means->second.sent_bytes / kMebibyte;
    }
    workers.push_back(std::move(worker));
  }
  mark_stragglers(workers);
  return workers;
}

void Generation::describe(JobStatus& status, TimePoint now) const {
  const TickPlan& plan = settings_.ticks;
  const auto kimg_of = [&plan](std::int64_t steps) {
    return static_cast<double>(steps * plan.images_per_step) / 1000.0;
  };
  status.run_directory = settings_.welcome.run_directory;
  status.run_id = settings_.welcome.run_id;
  status.incarnation = settings_.welcome.incarnation;
  status.restarts = settings_.snapshots.losses;
  status.seconds_up = seconds(now - began_at_);
  status.step = ticks_.steps_done();
  status.total_steps = settings_.leases.total_steps;
  status.kimg = kimg_of(status.step);
  status.total_kimg = kimg_of(status.total_steps);
  status.step_seconds = ticks_.median_step_seconds();
  status.workers = worker_statuses();
  status.snapshot_step = snapshots_.complete();
  if (status.step == point_.step) {
    status.waits_for = wait_before_first_step(status.phase, status.workers);
  }
  if (status.tick) {
    status.images_per_second = status.tick->images_per_second;
  } else if (status.step_seconds > 0.0) {
    status.images_per_second = static_cast<double>(plan.images_per_step) / status.step_seconds;
  }
  if (const auto left = until_end(); left && status.phase == JobPhase::kTraining) {
    status.seconds_left = left->count();
  }
  for (std::size_t network = 0; status.step > point_.step && network < plan.networks.size();
       ++network) {
    status.losses.push_back({plan.networks[network], ticks_.last_losses().at(network)});
  }
  if (const std::int64_t saved = saved_step(); saved > 0) {
    status.checkpoint = {
        .step = saved,
        .age_kimg = kimg_of(status.step - saved),
        .age_seconds = committed_at_ ? std::optional(seconds(now - *committed_at_)) : std::nullopt};
  }
}

}  // namespace gangway::coordinator
