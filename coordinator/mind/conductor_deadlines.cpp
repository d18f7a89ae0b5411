// SPDX-License-Identifier: MIT
// The Conductor's reactions to the clock: lost or hanging workers, saves that are slow or due.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordinator/mind/conductor.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {
namespace {

// The clock ticks every few milliseconds. During a longer gap (a slow disk, a stopped process) the
// coordinator reads nothing: the workers' silence does not count.
constexpr std::chrono::milliseconds kOwnStall{1000};

}  // namespace

void Conductor::forgive_own_stall(TimePoint now) {
  const auto gap = now - last_clock_;
  last_clock_ = now;
  if (gap < kOwnStall) {
    return;
  }
  membership_.forgive(gap, now);
  watch_.forgive(gap, now);
  blame_.forgive(gap, now);
}

Effects Conductor::on_clock(TimePoint now) {
  if (ended_) {
    return {};
  }
  forgive_own_stall(now);
  if (end_when_recorded_) {  // workers leave for the same trouble
    return {};
  }
  if (held_back_) {  // workers may complain about the peer that left
    return answer_when_due(now);
  }
  if (const auto fault = membership_.check(now)) {
    return lose(*fault);
  }
  if (const auto fault = blame_.verdict(membership_, now)) {
    return lose(*fault);
  }
  if (const auto fault = check_progress(now)) {
    return lose(*fault);
  }
  Effects effects = name_who_is_late(now);
  Effects comfort = comfort_who_waits(now);
  std::ranges::move(comfort, std::back_inserter(effects));
  Effects saves = check_saves(now);
  std::ranges::move(saves, std::back_inserter(effects));
  return effects;
}

Effects Conductor::comfort_who_waits(TimePoint now) {
  Effects effects;
  if (!begun_ || !leases_.is_held()) {
    held_since_.reset();
    return effects;
  }
  held_since_ = held_since_.value_or(now);
  if (now - *held_since_ < kLeaseDeadline / 4) {
    return effects;
  }
  held_since_ = now;
  SendMessage patience{.message = messages::Patience{}};
  for (const Member& member : membership_.members()) {
    if (member.state == WorkerState::kReady) {
      patience.ranks.push_back(member.rank);
    }
  }
  effects.emplace_back(std::move(patience));
  return effects;
}

std::optional<std::chrono::duration<double>> Conductor::until_end() const {
  const double step_seconds = ticks_.median_step_seconds();
  if (step_seconds <= 0.0) {
    return std::nullopt;
  }
  const auto left = static_cast<double>(settings_.leases.total_steps - watch_.slowest_done());
  return std::chrono::duration<double>(left * step_seconds);
}

Effects Conductor::check_saves(TimePoint now) {
  Effects effects;
  if (auto line = ledger_.overdue(now, watch_.slowest_done(), settings_.save_alarm)) {
    effects.emplace_back(Say{std::move(*line)});
  }
  if (membership_.all_left() && !all_left_) {
    all_left_ = now;
  }
  if (all_left_ && now - *all_left_ >= settings_.save_floor) {
    return end(
        ExitCode::kEnvironment, 0,
        "the manifest of the last checkpoint does not get onto the disk: look at the disk of "
        "the run directory, then start the same command again");
  }
  if (saves_.is_due(now, until_end())) {
    leases_.request_checkpoint();
    Effects granted = grant(now);
    std::ranges::move(granted, std::back_inserter(effects));
  }
  return effects;
}

bool Conductor::is_writing_its_last(int rank) const {
  return leases_.last_granted() && watch_.done(rank) >= leases_.granted_end() &&
         ledger_.owes(rank - 1);
}

std::optional<std::chrono::milliseconds> Conductor::time_beyond(int rank) const {
  if (membership_.member(rank).state != WorkerState::kReady) {
    return std::nullopt;
  }
  if (leases_.is_held() && watch_.done(rank) >= leases_.granted_end()) {
    return std::nullopt;  // it waits for a score, or is paused
  }
  return is_writing_its_last(rank) ? settings_.save_floor : std::chrono::milliseconds(0);
}

Effects Conductor::name_who_is_late(TimePoint now) {
  const double usual = ticks_.median_step_seconds();
  const auto late =
      watch_.find(now, watch_.notable(usual), [this](int rank) { return time_beyond(rank); });
  if (!late || late->step <= named_late_) {
    return {};
  }
  named_late_ = late->step;
  std::vector<std::string> names;
  for (const Member& member : membership_.members()) {
    if (member.state == WorkerState::kReady && !waits(member, now)) {
      names.push_back(membership_.describe(member.rank));
    }
  }
  return {Say{fmt::format("note   no step since step {} for {:.1f} s, {:.2f} s is usual: {}",
                          late->step, late->seconds, usual,
                          names.empty()
                              ? "all workers wait for messages of one another"
                              : fmt::format("the others wait for {}", fmt::join(names, ", ")))}};
}

std::optional<Fault> Conductor::check_progress(TimePoint now) const {
  const auto silence = watch_.find(now, watch_.deadline(ticks_.median_step_seconds()),
                                   [this](int rank) { return time_beyond(rank); });
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

Outcome Conductor::resized_outcome() const {
  const std::int64_t step = ticks_.steps_done();
  return {.exit_code = static_cast<int>(ExitCode::kPreempted),
          .reason = leave_reason(*resize_, last_save_error_.empty()
                                               ? fmt::format("at step {}", step)
                                               : fmt::format("and could not save step {} ({})",
                                                             step, last_save_error_)),
          .step = step,
          .orderly = true,
          .resize = resize_};
}

Effects Conductor::finish_if_done() {
  if (ended_ || held_back_ || end_when_recorded_ || !membership_.all_left() ||
      ledger_.is_committing()) {
    return {};
  }
  Outcome outcome{
      .exit_code = 0, .reason = "done", .rank = 0, .step = ticks_.steps_done(), .orderly = true};
  if (!ledger_.idle()) {
    // A worker sends its parts before its Goodbye: a part that is missing now never arrives.
    outcome.exit_code = static_cast<int>(ExitCode::kInternal);
    outcome.reason = "the workers left before they had reported their last checkpoint";
  } else if (resize_ && outcome.step < settings_.leases.total_steps) {
    outcome = resized_outcome();
  } else if (!last_save_error_.empty()) {
    outcome.exit_code = leave_signal_ ? 128 + (*leave_signal_ == SIGINT ? SIGINT : SIGTERM)
                                      : static_cast<int>(ExitCode::kEnvironment);
    outcome.reason = "the last checkpoint could not be saved: " + last_save_error_;
  } else if (leave_signal_ && ticks_.steps_done() < settings_.leases.total_steps) {
    outcome.exit_code = static_cast<int>(ExitCode::kPreempted);
    outcome.reason =
        fmt::format("stopped on request and saved at step {}: {}", outcome.step, settings_.go_on);
  } else if (outcome.step < settings_.scores.total_steps) {
    outcome.reason = early_end();
  }
  outcome.saved = ledger_.idle() && last_save_error_.empty();
  return end_with(std::move(outcome));
}

}  // namespace gangway::coordinator
