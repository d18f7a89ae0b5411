// SPDX-License-Identifier: MIT
// The Conductor's answers to signals and commands, and the job's status.
#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "coordinator/mind/conductor.hpp"
#include "coordinator/steering/settable_keys.hpp"

namespace gangway::coordinator {
namespace {

/// Most steps in a trace, because a worker keeps some 65,000 events.
constexpr std::int64_t kMostTraced = 10'000;

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

void merge(Effects& effects, Effects more) {
  effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
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
  resize_.reset();  // a request to leave overrides the resize's restart
  if (leave_signal_) {
    return {};
  }
  leave_signal_ = signal;
  if (!begun_) {
    return end(ExitCode::kPreempted, 0,
               "stopped on request before the first step: the same command goes on");
  }
  leases_.request_stop();
  Effects effects{
      Say{"note  stopping on request: ends the steps that are under way (about a second of them), "
          "saves, and leaves"}};
  merge(effects, grant(now));
  return effects;
}

Commanded Conductor::on_command(const Command& command, TimePoint now, double unix_seconds) {
  if (ended_ || end_when_recorded_) {
    return {.answer = {Refusal::kNotNow, "the job has ended", ticks_.steps_done()}, .effects = {}};
  }
  Commanded commanded;
  const Asked asked{command.who, now, unix_seconds, commanded.effects};
  CommandAnswer& answer = commanded.answer;
  answer = std::visit([&](const auto& order) { return obey(order, asked); }, command.order);
  if (answer.refusal != Refusal::kNone) {
    return commanded;
  }
  SteeringEvent event = event_of(command.order);
  event.unix_seconds = unix_seconds;
  event.step = answer.step;
  event.start = settings_.welcome.incarnation;
  event.who = command.who;
  event.answer = answer.text;
  if (const auto* set = std::get_if<SetKey>(&command.order)) {
    event.arguments["job"] = value_of(settings_.job, set->key);
  }
  Effects first{Say{fmt::format("steer  {} by {}: {}", event.command, event.who, event.answer)},
                RecordSteering{std::move(event)}};
  commanded.effects.insert(commanded.effects.begin(), first.begin(), first.end());
  return commanded;
}

CommandAnswer Conductor::obey(const PauseJob& /*order*/, const Asked& asked) {
  if (leave_signal_) {
    return {Refusal::kNotNow, "it is stopping", leases_.granted_end()};
  }
  const std::int64_t step = leases_.granted_end();
  if (settings_.pause) {
    return {Refusal::kNone, fmt::format("is paused already, as {} asked", settings_.pause->by),
            step};
  }
  settings_.pause = {.unix_seconds = asked.unix_seconds, .by = asked.who};
  leases_.pause();
  return {Refusal::kNone, fmt::format("pauses after step {}", step), step};
}

CommandAnswer Conductor::obey(const ResumeJob& /*order*/, const Asked& asked) {
  const std::int64_t step = leases_.granted_end();
  if (!settings_.pause) {
    return {Refusal::kNone, "is not paused", step};
  }
  if (begun_ && ticks_.steps_done() >= step) {
    ticks_.forgive(asked.now - ticks_.step_ended());
  }
  settings_.pause.reset();
  leases_.resume();
  merge(asked.effects, grant(asked.now));
  return {Refusal::kNone, fmt::format("goes on after step {}", step), step};
}

CommandAnswer Conductor::obey(const SaveCheckpoint& order, const Asked& asked) {
  if (!begun_ || leases_.granted_end() == 0) {  // step 0 is never saved
    return {Refusal::kNotNow, "it has not begun to train: try again", ticks_.steps_done()};
  }
  leases_.request_checkpoint();
  merge(asked.effects, grant(asked.now));
  const std::int64_t step = leases_.saved_step();
  const std::int64_t saved = ledger_.last_committed().value_or(settings_.leases.saved_step);
  if (order.pin) {
    pins_.insert(step);
    if (step == saved) {
      merge(asked.effects, pin_at(step));
    }
  }
  return {Refusal::kNone,
          fmt::format("{} step {}{}", step == saved ? "has saved" : "saves", step,
                      order.pin ? ", which is pinned" : ""),
          step};
}

Effects Conductor::pin_at(std::int64_t step) {
  if (pins_.erase(step) == 0) {
    // If the checkpoint to be pinned could not be saved, pin this one instead.
    const auto later = pins_.upper_bound(step);
    if (later == pins_.begin()) {
      return {};
    }
    pins_.erase(pins_.begin(), later);
  }
  return {PinCheckpoint{step}};
}

CommandAnswer Conductor::obey(const SetKey& order, const Asked& asked) {
  try {
    const std::string before = value_of(settings_.steered_job, order.key);
    settings_.steered_job = with_key(settings_.steered_job, order.key, order.value);
    set_plan();
    asked.effects.emplace_back(KeepCheckpoints{settings_.steered_job.checkpoint});
    const std::string after = value_of(settings_.steered_job, order.key);
    return {Refusal::kNone, fmt::format("{} is {}, was {}", order.key, after, before),
            leases_.granted_end()};
  } catch (const ConfigError& error) {
    return {Refusal::kInvalid, error.what(), leases_.granted_end()};
  }
}

void Conductor::set_plan() {
  const SteeredPlan plan = steered_plan(settings_.steered_job);
  leases_.set_intervals(plan.tick_steps, plan.picture_steps, plan.checkpoint_steps);
  settings_.leases.tick_steps = settings_.ticks.tick_steps = plan.tick_steps;
  settings_.leases.picture_steps = plan.picture_steps;
  settings_.leases.checkpoint_steps = plan.checkpoint_steps;
  settings_.snapshots.every = plan.snapshot_steps;
  ticks_.set_tick_steps(plan.tick_steps);
  saves_.set_interval(plan.save_interval);
  snapshots_.set_every(plan.snapshot_steps);
}

CommandAnswer Conductor::obey(const TraceJob& order, const Asked& asked) {
  const std::int64_t granted = leases_.granted_end();
  const TraceSteps steps = order.begin > 0 ? TraceSteps{order.begin, order.end, order.detail}
                                           : TraceSteps{granted, granted + order.end, order.detail};
  if (order.end <= 0 || steps.empty() || steps.end - steps.begin > kMostTraced) {
    return {Refusal::kInvalid,
            fmt::format("steps {}:{} cannot be traced: the first comes before the one after the "
                        "last, at most {} steps earlier",
                        order.begin, order.end, kMostTraced),
            granted};
  }
  if (order.detail.kernels && settings_.job.numerics.device == DeviceKind::kCpu) {
    return {Refusal::kInvalid, "it computes on CPUs: there are no GPUs' kernels to trace", granted};
  }
  if (!begun_ || leave_signal_) {
    return {Refusal::kNotNow, "it is not training", granted};
  }
  const std::int64_t done = ticks_.steps_done();
  if (std::max(trace_.end, settings_.welcome.trace.end) > done) {
    return {Refusal::kNotNow,
            fmt::format("steps are to be traced already, until {}: try again after them",
                        std::max(trace_.end, settings_.welcome.trace.end)),
            granted};
  }
  if (steps.begin < granted || steps.end > settings_.leases.total_steps) {
    return {Refusal::kNotNow,
            fmt::format("steps {}:{} cannot be traced: those from {} to {} can", steps.begin,
                        steps.end, granted, settings_.leases.total_steps),
            granted};
  }
  trace_ = untold_trace_ = steps;
  asked.effects.emplace_back(BeginTrace{steps});
  return {Refusal::kNone, fmt::format("traces steps {}:{}", steps.begin, steps.end), steps.begin};
}

CommandAnswer Conductor::why_not_resized() const {
  CommandAnswer answer{Refusal::kNotNow, {}, leases_.granted_end()};
  if (!begun_) {
    answer.text = "it has not begun to train: try again";
  } else if (leave_signal_) {
    answer.text = resize_ ? "it is about to go on with other workers: try again" : "it is stopping";
  } else if (!settings_.is_supervised) {
    answer.text =
        "nobody would start it again: without gangway run, gangway stop, then start it with the "
        "workers that are meant";
  } else {
    answer.refusal = Refusal::kNone;
  }
  return answer;
}

Effects Conductor::leave_for(Resize resize, TimePoint now) {
  resize_ = std::move(resize);
  leave_signal_ = SIGTERM;
  leases_.request_stop();
  return grant(now);
}

CommandAnswer Conductor::obey(const DrainWorkers& order, const Asked& asked) {
  const bool is_draining = resize_ && !resize_->drained.empty();
  if (CommandAnswer no = why_not_resized(); no.refusal != Refusal::kNone && !is_draining) {
    return no;
  }
  const std::int64_t step = leases_.granted_end();
  std::vector<DrainableWorker> workers;
  for (const Member& member : membership_.members()) {
    workers.push_back({.rank = member.rank, .host = member.host});
  }
  try {
    Resize resize{.drained = ranks_named(order.name, workers)};
    if (is_draining) {
      resize.drained.insert(resize_->drained.begin(), resize_->drained.end());
    }
    resize.workers = settings_.num_workers - static_cast<int>(resize.drained.size());
    try {
      require_layout_with(resize.workers, settings_.job);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("'{}' cannot be drained: {}", order.name, error.what()));
    }
    const std::string text = fmt::format(
        "saves step {}, and goes on with {} worker{}, without rank {}", step, resize.workers,
        resize.workers == 1 ? "" : "s", fmt::join(resize.drained, ", "));
    merge(asked.effects, leave_for(std::move(resize), asked.now));
    return {Refusal::kNone, text, step};
  } catch (const ConfigError& error) {
    return {Refusal::kInvalid, error.what(), step};
  }
}

CommandAnswer Conductor::obey(const ResizeJob& order, const Asked& asked) {
  if (CommandAnswer no = why_not_resized(); no.refusal != Refusal::kNone) {
    return no;
  }
  const std::int64_t step = leases_.granted_end();
  try {
    require_layout_with(order.workers, settings_.job);
  } catch (const ConfigError& error) {
    return {Refusal::kInvalid, fmt::format("it stays as it is: {}", error.what()), step};
  }
  if (order.workers == settings_.num_workers) {
    return {Refusal::kNone, fmt::format("has {} workers already", order.workers), step};
  }
  merge(asked.effects, leave_for({.workers = order.workers}, asked.now));
  return {Refusal::kNone,
          fmt::format("saves step {}, and goes on with {} worker{}", step, order.workers,
                      order.workers == 1 ? "" : "s"),
          step};
}

CommandAnswer Conductor::obey(const StopJob& /*order*/, const Asked& asked) {
  const std::int64_t step = leases_.granted_end();
  if (leave_signal_ && !resize_) {
    return {Refusal::kNone, "is stopping already", step};
  }
  merge(asked.effects, on_request(Request::kSaveAndLeave, SIGTERM, asked.now));
  return {Refusal::kNone,
          begun_ ? fmt::format("saves step {}, and leaves", step) : "leaves before its first step",
          step};
}

JobPhase Conductor::phase() const {
  if (ended_) {
    return JobPhase::kEnded;
  }
  if (leave_signal_) {
    return JobPhase::kStopping;
  }
  if (begun_ && settings_.pause) {
    return watch_.slowest_done() < leases_.granted_end() ? JobPhase::kPausing : JobPhase::kPaused;
  }
  return begun_ ? JobPhase::kTraining : JobPhase::kStarting;
}

std::vector<WorkerStatus> Conductor::worker_statuses() const {
  const Layout& layout = settings_.welcome.layout;
  const PerNetwork<std::string> networks = settings_.job.network_names();
  const bool is_apart = layout.is_apart();
  std::vector<WorkerStatus> workers;
  for (const Member& member : membership_.members()) {
    WorkerStatus worker{.rank = member.rank,
                        .host = member.host,
                        .device = member.device,
                        .pid = member.process.pid,
                        .state = state_text(member.state),
                        .microbatches = layout.range_of(member.rank - 1),
                        .networks = is_apart ? layout.held_by(member.rank - 1, networks) : "",
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

JobStatus Conductor::status(TimePoint now, double unix_seconds) const {
  const TickPlan& plan = settings_.ticks;
  const auto kimg_of = [&plan](std::int64_t steps) {
    return static_cast<double>(steps * plan.images_per_step) / 1000.0;
  };
  JobStatus status{.run_directory = settings_.welcome.run_directory,
                   .run_id = settings_.welcome.run_id,
                   .incarnation = settings_.welcome.incarnation,
                   .restarts = settings_.snapshots.losses,
                   .phase = phase(),
                   .unix_seconds = unix_seconds,
                   .seconds_up = seconds(now - began_at_),
                   .step = ticks_.steps_done(),
                   .total_steps = settings_.leases.total_steps,
                   .kimg = kimg_of(ticks_.steps_done()),
                   .total_kimg = kimg_of(settings_.leases.total_steps),
                   .step_seconds = ticks_.median_step_seconds(),
                   .tick = last_tick_,
                   .workers = worker_statuses(),
                   .pause = settings_.pause,
                   .snapshot_step = snapshots_.complete(),
                   .pictures = pictures_};
  if (status.step == begin_step_) {
    status.waits_for = wait_before_first_step(status.phase, status.workers);
  }
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
