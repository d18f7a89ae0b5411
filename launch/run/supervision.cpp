// SPDX-License-Identifier: MIT
#include "launch/run/supervision.hpp"

#include <csignal>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/errors.hpp"
#include "base/system/start_child.hpp"

namespace gangway::launch {

Supervision::Passed Supervision::on_signal(int signal, TimePoint now) {
  // Before that, a signal could kill mpirun or a rank without handlers; there is nothing to save.
  const bool is_led = watch_.is_led();
  if (signal == SIGUSR2) {
    return {.to_mpirun = is_led ? SIGUSR2 : 0};
  }
  if (signal == SIGINT && leave_signal_) {
    forced_at_ = forced_at_.value_or(now);
    return {.ends_now = true};
  }
  if (leave_signal_) {
    return {};
  }
  leave_signal_ = signal;
  watch_.asked_to_leave();
  return {.to_mpirun = is_led ? SIGUSR1 : 0, .tells_how = is_led && signal == SIGINT};
}

std::optional<Supervision::Ending> Supervision::check(TimePoint now,
                                                      const std::function<void()>& look_for_end) {
  if (forced_at_ && now - *forced_at_ > kAfterForce) {
    return Ending{};
  }
  if (!watch_.check(now)) {
    return std::nullopt;
  }
  look_for_end();
  const auto verdict = watch_.check(now);
  if (!verdict) {
    return std::nullopt;
  }
  if (verdict->reason.empty()) {
    return Ending{};  // the job has recorded its end: its time to save is over
  }
  verdict_ = verdict;
  return Ending{.rescue = watch_.is_led() && !goes_on_ ? Rescue::kOnOtherHosts : Rescue::kNone,
                .word = {.line = verdict->reason,
                         .tells_command = verdict->code != ExitCode::kPreempted && !goes_on_}};
}

Supervision::Finished Supervision::finish(std::optional<int> recorded, int mpirun_status) {
  if (recorded) {
    // The coordinator gets SIGUSR1 for every signal, so it cannot recognise Ctrl-C.
    const bool interrupted = leave_signal_ == SIGINT && *recorded == kEndedBySignal + SIGTERM;
    return {.exit_code = interrupted ? kEndedBySignal + SIGINT : *recorded};
  }
  if (verdict_) {
    return {.exit_code = static_cast<int>(verdict_->code)};
  }
  if (leave_signal_) {
    return {.exit_code = kEndedBySignal + (*leave_signal_ == SIGINT ? SIGINT : SIGTERM),
            .word = {.line = "ended by a signal without a save",
                     .tells_command = true,
                     .tells_logs = false}};
  }
  if (WIFEXITED(mpirun_status) && WEXITSTATUS(mpirun_status) == kProgramNotFound) {
    throw EnvironmentError(
        "mpirun was not found: install openmpi-bin (./launch/setup does), or put it on the PATH");
  }
  verdict_ = Verdict{ExitCode::kWorkerLost, how_mpirun_ended(mpirun_status)};
  return {.exit_code = static_cast<int>(ExitCode::kWorkerLost),
          .word = {.line = verdict_->reason, .tells_command = !goes_on_}};
}

std::string Supervision::how_mpirun_ended(int status) const {
  if (WIFSIGNALED(status)) {
    return fmt::format("mpirun was killed by signal {}", WTERMSIG(status));
  }
  const int code = WEXITSTATUS(status);
  const auto lost = watch_.lost_coordinator();
  return code == 0 && lost
             ? *lost
             : fmt::format("mpirun ended with code {} and the coordinator left no status", code);
}

SupervisedEnd Supervision::end(int exit_code, const std::optional<RunStatus>& status) const {
  return {.exit_code = exit_code,
          .was_to_leave = leave_signal_.has_value(),
          .reason = status     ? status->reason
                    : verdict_ ? verdict_->reason
                               : std::string(),
          .lost = status && status->lost > 0 ? status->lost
                  : verdict_                 ? verdict_->rank
                                             : 0};
}

}  // namespace gangway::launch
