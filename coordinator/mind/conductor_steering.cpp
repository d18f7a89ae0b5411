// SPDX-License-Identifier: MIT
// What people ask of a running job: the Conductor's answer to signals, and how the job stands.
#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "base/units.hpp"
#include "coordinator/mind/conductor.hpp"

namespace gangway::coordinator {
namespace {

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

Effects Conductor::on_request(Request request, int signal, TimePoint now) {
  if (ended_) {
    return {};
  }
  if (request == Request::kEndNow) {
    return end_with(Outcome{.exit_code = 128 + signal,
                            .reason = "ended at once on request, without a save",
                            .rank = 0,
                            .step = ticks_.steps_done(),
                            .orderly = false});
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
  Effects granted = grant(now);
  std::ranges::move(granted, std::back_inserter(effects));
  return effects;
}

JobPhase Conductor::phase() const {
  if (ended_) {
    return JobPhase::kEnded;
  }
  if (leave_signal_) {
    return JobPhase::kStopping;
  }
  return begun_ ? JobPhase::kTraining : JobPhase::kStarting;
}

std::vector<WorkerStatus> Conductor::worker_statuses() const {
  std::vector<WorkerStatus> workers;
  for (const Member& member : membership_.members()) {
    WorkerStatus worker{.rank = member.rank,
                        .host = member.host,
                        .device = member.device,
                        .pid = member.process.pid,
                        .state = state_text(member.state),
                        .steps_done = watch_.done(member.rank)};
    const auto index = static_cast<std::size_t>(member.rank - 1);
    if (index < settings_.welcome.ranges.size()) {
      worker.microbatches = settings_.welcome.ranges[index];
    }
    const auto means = ticks_.last_means().find(member.rank);
    if (means != ticks_.last_means().end()) {
      worker.work_seconds_per_step = means->second.work_seconds;
      worker.wait_seconds_per_step = means->second.wait_seconds;
      worker.data_seconds_per_step = means->second.data_seconds;
      worker.resident_bytes = means->second.resident_bytes;
      worker.sent_mib_per_step = means->second.sent_bytes / kMebibyte;
    }
    workers.push_back(std::move(worker));
  }
  mark_stragglers(workers);
  return workers;
}

JobStatus Conductor::status(TimePoint now, double unix_seconds) const {
  const TickPlan& plan = settings_.ticks;
  const auto kimg_of = [&plan](std::int64_t steps) {
    return static_cast<double>(steps * plan.images_per_step) / 1000.0;
  };
  JobStatus status{.run_directory = settings_.welcome.run_directory,
                   .run_id = settings_.welcome.run_id,
                   .incarnation = settings_.welcome.incarnation,
                   .phase = phase(),
                   .unix_seconds = unix_seconds,
                   .step = ticks_.steps_done(),
                   .total_steps = settings_.leases.total_steps,
                   .kimg = kimg_of(ticks_.steps_done()),
                   .total_kimg = kimg_of(settings_.leases.total_steps),
                   .step_seconds = ticks_.median_step_seconds(),
                   .tick = last_tick_,
                   .workers = worker_statuses(),
                   .snapshot_step = snapshots_.complete(),
                   .pictures = pictures_};
  if (last_tick_) {
    status.tick->histograms.clear();
    status.images_per_second = last_tick_->images_per_second;
  } else if (status.step_seconds > 0.0) {
    status.images_per_second = static_cast<double>(plan.images_per_step) / status.step_seconds;
  }
  if (const auto left = until_end(); left && status.phase == JobPhase::kTraining) {
    status.seconds_left = left->count();
  }
  for (std::size_t network = 0; status.step > begin_step_ && network < plan.networks.size();
       ++network) {
    status.losses.push_back({plan.networks[network], ticks_.last_losses().at(network)});
  }
  const std::int64_t saved = ledger_.last_committed().value_or(plan.checkpoint_step);
  if (saved > 0) {
    status.checkpoint = {
        .step = saved,
        .age_kimg = kimg_of(status.step - saved),
        .age_seconds = committed_at_ ? std::optional(seconds(now - *committed_at_)) : std::nullopt};
  }
  return status;
}

}  // namespace gangway::coordinator
