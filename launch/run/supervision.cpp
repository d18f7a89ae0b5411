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
  const auto end = watch_.check(now);
  if (!end) {
    return std::nullopt;
  }
  if (end->reason.empty()) {
    return Ending{};  // the job has recorded its end: its time to save is over
  }
  own_end_ = end;
  return Ending{
      .pending_saves =
          watch_.is_led() && !goes_on_ ? PendingSaves::kOnOtherHosts : PendingSaves::kNone,
      .word = {.line = end->reason, .tells_command = !end->is(ExitCode::kPreempted) && !goes_on_}};
}

Supervision::Finished Supervision::finish(const std::optional<RunEnd>& recorded,
                                          int mpirun_status) {
  Finished finished;
  RunEnd& end = finished.end;
  if (recorded) {
    end = *recorded;
    // The coordinator gets SIGUSR1 for every signal, so it cannot recognise Ctrl-C.
    if (leave_signal_ == SIGINT && end.exit_code == kEndedBySignal + SIGTERM) {
      end.exit_code = kEndedBySignal + SIGINT;
    }
    if (end.rank == Rank() && own_end_) {
      end.rank = own_end_->rank;
    }
  } else if (own_end_) {
    end = *own_end_;
  } else if (leave_signal_) {
    end.exit_code = kEndedBySignal + (*leave_signal_ == SIGINT ? SIGINT : SIGTERM);
    finished.word = {
        .line = "ended by a signal without a save", .tells_command = true, .tells_logs = false};
  } else if (WIFEXITED(mpirun_status) && WEXITSTATUS(mpirun_status) == kProgramNotFound) {
    throw EnvironmentError(
        "mpirun was not found: install openmpi-bin (./launch/setup does), or put it on the PATH");
  } else {
    end = ended_by(ExitCode::kWorkerLost, how_mpirun_ended(mpirun_status));
    own_end_ = end;
    finished.word = {.line = end.reason, .tells_command = !goes_on_};
  }
  end.was_to_leave = leave_signal_.has_value();
  return finished;
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

}  // namespace gangway::launch
