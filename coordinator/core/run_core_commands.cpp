// SPDX-License-Identifier: MIT
// RunCore's answers to signals and commands, and the job's status.
#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/core/run_core.hpp"
#include "coordinator/steering/resize.hpp"
#include "coordinator/steering/settable_keys.hpp"

namespace gangway::coordinator {
namespace {

/// Most steps in a trace, because a worker keeps some 65,000 events.
constexpr std::int64_t kMostTraced = 10'000;

}  // namespace

Effects RunCore::on_request(Request request, int signal, TimePoint now) {
  if (ended_) {
    return {};
  }
  if (request == Request::kEndNow) {
    return end_with({.exit_code = 128 + signal,
                     .reason = "ended at once on request, without a save",
                     .step = generation_.ticks().steps_done()});
  }
  if (request == Request::kSaveAndGoOn) {
    generation_.leases().request_checkpoint();
    return grant(now);
  }
  if (leave_) {
    leave_->resize.reset();  // a request to leave overrides the resize's restart
    return {};
  }
  leave_ = {.signal = signal};
  if (!generation_.has_begun()) {
    return decide_now(now);
  }
  generation_.leases().request_stop();
  Effects effects{
      Say{"note  stopping on request: ends the steps that are under way (about a second of them), "
          "saves, and leaves"}};
  append(effects, grant(now));
  return effects;
}

Commanded RunCore::on_command(const Command& command, TimePoint now, double unix_seconds) {
  if (is_over()) {
    return {.answer = {Refusal::kNotNow, "the job has ended", generation_.ticks().steps_done()},
            .effects = {}};
  }
  Commanded commanded;
  const Asked asked{command.who, now, unix_seconds, generation_.leases().granted_end(),
                    commanded.effects};
  CommandAnswer& answer = commanded.answer;
  try {
    answer = std::visit([&](const auto& order) { return obey(order, asked); }, command.order);
  } catch (const ConfigError& error) {
    answer = {Refusal::kInvalid, error.what(), asked.step};
  }
  if (answer.refusal != Refusal::kNone) {
    return commanded;
  }
  SteeringEvent event = event_of(command.order);
  event.unix_seconds = unix_seconds;
  event.step = answer.step;
  event.start = welcome().incarnation;
  event.who = command.who;
  event.answer = answer.text;
  if (const auto* set = std::get_if<SetKey>(&command.order)) {
    event.arguments["job"] = value_of(job(), set->key);
  }
  Effects first{Say{fmt::format("steer  {} by {}: {}", event.command, event.who, event.answer)},
                RecordSteering{std::move(event)}};
  commanded.effects.insert(commanded.effects.begin(), first.begin(), first.end());
  return commanded;
}

CommandAnswer RunCore::obey(const PauseJob& /*order*/, const Asked& asked) {
  if (leave_) {
    return {Refusal::kNotNow, "it is stopping", asked.step};
  }
  if (settings_.pause) {
    return {Refusal::kNone, fmt::format("is paused already, as {} asked", settings_.pause->by),
            asked.step};
  }
  settings_.pause = {.unix_seconds = asked.unix_seconds, .by = asked.who};
  generation_.leases().pause();
  return {Refusal::kNone, fmt::format("pauses after step {}", asked.step), asked.step};
}

CommandAnswer RunCore::obey(const ResumeJob& /*order*/, const Asked& asked) {
  if (!settings_.pause) {
    return {Refusal::kNone, "is not paused", asked.step};
  }
  if (generation_.has_begun() && generation_.ticks().steps_done() >= asked.step) {
    generation_.ticks().forgive(asked.now - generation_.ticks().step_ended());
  }
  settings_.pause.reset();
  generation_.leases().resume();
  append(asked.effects, grant(asked.now));
  return {Refusal::kNone, fmt::format("goes on after step {}", asked.step), asked.step};
}

CommandAnswer RunCore::obey(const SaveCheckpoint& order, const Asked& asked) {
  if (!generation_.has_begun() || asked.step == 0) {  // step 0 is never saved
    return {Refusal::kNotNow, "it has not begun to train: try again",
            generation_.ticks().steps_done()};
  }
  generation_.leases().request_checkpoint();
  append(asked.effects, grant(asked.now));
  const std::int64_t step = generation_.leases().saved_step();
  const std::int64_t saved = generation_.saved_step();
  if (order.pin) {
    pins_.insert(step);
    if (step == saved) {
      append(asked.effects, pin_at(step));
    }
  }
  return {Refusal::kNone,
          fmt::format("{} step {}{}", step == saved ? "has saved" : "saves", step,
                      order.pin ? ", which is pinned" : ""),
          step};
}

Effects RunCore::pin_at(std::int64_t step) {
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

CommandAnswer RunCore::obey(const SetKey& order, const Asked& asked) {
  const std::string before = value_of(settings_.steered_job, order.key);
  settings_.steered_job = with_key(settings_.steered_job, order.key, order.value);
  const SteeredPlan plan = steered_plan(settings_.steered_job);
  generation_.set_plan(plan);
  saves_.set_interval(plan.save_interval);
  asked.effects.emplace_back(KeepCheckpoints{settings_.steered_job.checkpoint});
  const std::string after = value_of(settings_.steered_job, order.key);
  return {Refusal::kNone, fmt::format("{} is {}, was {}", order.key, after, before), asked.step};
}

CommandAnswer RunCore::obey(const TraceJob& order, const Asked& asked) {
  const std::int64_t granted = asked.step;
  const TraceSteps steps = order.begin > 0 ? TraceSteps{order.begin, order.end, order.detail}
                                           : TraceSteps{granted, granted + order.end, order.detail};
  if (order.end <= 0 || steps.empty() || steps.end - steps.begin > kMostTraced) {
    return {Refusal::kInvalid,
            fmt::format("steps {}:{} cannot be traced: the first comes before the one after the "
                        "last, at most {} steps earlier",
                        order.begin, order.end, kMostTraced),
            granted};
  }
  if (order.detail.kernels && job().numerics.device == DeviceKind::kCpu) {
    return {Refusal::kInvalid, "it computes on CPUs: there are no GPUs' kernels to trace", granted};
  }
  if (!generation_.has_begun() || leave_) {
    return {Refusal::kNotNow, "it is not training", granted};
  }
  const std::int64_t done = generation_.ticks().steps_done();
  if (std::max(trace_.end, welcome().trace.end) > done) {
    return {Refusal::kNotNow,
            fmt::format("steps are to be traced already, until {}: try again after them",
                        std::max(trace_.end, welcome().trace.end)),
            granted};
  }
  if (steps.begin < granted || steps.end > generation_.settings().leases.total_steps) {
    return {Refusal::kNotNow,
            fmt::format("steps {}:{} cannot be traced: those from {} to {} can", steps.begin,
                        steps.end, granted, generation_.settings().leases.total_steps),
            granted};
  }
  trace_ = unsent_trace_ = steps;
  asked.effects.emplace_back(BeginTrace{steps});
  return {Refusal::kNone, fmt::format("traces steps {}:{}", steps.begin, steps.end), steps.begin};
}

Effects RunCore::leave_for(Resize resize, TimePoint now) {
  leave_ = {.signal = SIGTERM, .resize = std::move(resize)};
  generation_.leases().request_stop();
  return grant(now);
}

CommandAnswer RunCore::obey(const DrainWorkers& order, const Asked& asked) {
  const bool is_draining = leave_ && leave_->resize && !leave_->resize->drained.empty();
  if (std::string why = why_not_resized(view()); !why.empty() && !is_draining) {
    return {Refusal::kNotNow, std::move(why), asked.step};
  }
  std::vector<DrainableWorker> workers;
  for (const Member& member : membership().members()) {
    workers.push_back({.rank = member.rank, .host = member.host});
  }
  Resize resize{.drained = ranks_named(order.name, workers)};
  if (is_draining) {
    resize.drained.insert(leave_->resize->drained.begin(), leave_->resize->drained.end());
  }
  resize.workers = generation_.settings().num_workers - static_cast<int>(resize.drained.size());
  try {
    require_layout_with(resize.workers, job());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("'{}' cannot be drained: {}", order.name, error.what()));
  }
  const std::string text =
      fmt::format("saves step {}, and goes on with {} worker{}, without rank {}", asked.step,
                  resize.workers, resize.workers == 1 ? "" : "s", fmt::join(resize.drained, ", "));
  append(asked.effects, leave_for(std::move(resize), asked.now));
  return {Refusal::kNone, text, asked.step};
}

CommandAnswer RunCore::obey(const ResizeJob& order, const Asked& asked) {
  if (std::string why = why_not_resized(view()); !why.empty()) {
    return {Refusal::kNotNow, std::move(why), asked.step};
  }
  try {
    require_layout_with(order.workers, job());
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("it stays as it is: {}", error.what()));
  }
  if (order.workers == generation_.settings().num_workers) {
    return {Refusal::kNone, fmt::format("has {} workers already", order.workers), asked.step};
  }
  append(asked.effects, leave_for({.workers = order.workers}, asked.now));
  return {Refusal::kNone,
          fmt::format("saves step {}, and goes on with {} worker{}", asked.step, order.workers,
                      order.workers == 1 ? "" : "s"),
          asked.step};
}

CommandAnswer RunCore::obey(const StopJob& /*order*/, const Asked& asked) {
  if (leave_ && !leave_->resize) {
    return {Refusal::kNone, "is stopping already", asked.step};
  }
  append(asked.effects, on_request(Request::kSaveAndLeave, SIGTERM, asked.now));
  return {Refusal::kNone,
          generation_.has_begun() ? fmt::format("saves step {}, and leaves", asked.step)
                                  : "leaves before its first step",
          asked.step};
}

JobPhase RunCore::phase() const {
  if (ended_) {
    return JobPhase::kEnded;
  }
  if (leave_) {
    return JobPhase::kStopping;
  }
  if (generation_.has_begun() && settings_.pause) {
    return generation_.watch().slowest_done() < generation_.leases().granted_end()
               ? JobPhase::kPausing
               : JobPhase::kPaused;
  }
  return generation_.has_begun() ? JobPhase::kTraining : JobPhase::kStarting;
}

JobStatus RunCore::status(TimePoint now, double unix_seconds) const {
  JobStatus status{.phase = phase(),
                   .unix_seconds = unix_seconds,
                   .tick = last_tick_,
                   .pause = settings_.pause,
                   .pictures = pictures_};
  if (status.tick) {
    status.tick->histograms.clear();
  }
  generation_.describe(status, now);
  return status;
}

}  // namespace gangway::coordinator
