// SPDX-License-Identifier: MIT
// Decides what the supervisor of one start does: which signal it passes on, when it ends the job,
// which exit code follows. A pure state machine: launch/run/supervise.cpp feeds it and carries its
// decisions out, on the main thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launch/run/job_end.hpp"
#include "launch/run/job_watch.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {

/// Signals of a process are its exit code minus this.
inline constexpr int kEndedBySignal = 128;

/// How a start ended.
struct SupervisedEnd {
  int exit_code = 0;          ///< of `gangway run`
  bool was_to_leave = false;  ///< a signal had asked for the end
  std::string reason;         ///< one line, where there is one
  int lost = 0;               ///< rank of the worker that was; 0: none, or it is not known
};

/// One line for the user.
struct SupervisorsWord {
  std::string line;            ///< empty: there is nothing to say
  bool tells_command = false;  ///< adds the command that resumes the run
  bool tells_logs = true;      ///< adds the folder of the logs to that command
};

class Supervision {
 public:
  using TimePoint = JobWatch::TimePoint;
  /// From the second SIGINT to the end that the supervisor makes itself.
  static constexpr std::chrono::milliseconds kAfterForce{1'500};

  /// @param goes_on  another start follows a loss
  Supervision(int ranks, bool goes_on, TimePoint start, const WatchLimits& limits)
      : watch_(ranks, start, limits), goes_on_(goes_on) {}

  [[nodiscard]] JobWatch& watch() { return watch_; }
  [[nodiscard]] const JobWatch& watch() const { return watch_; }

  /// What follows a signal to the supervisor.
  struct Passed {
    int to_mpirun = 0;       ///< the signal that it passes on; 0: none
    bool ends_now = false;   ///< SIGINT goes to the coordinator
    bool tells_how = false;  ///< the user learns what a second Ctrl-C does
  };
  [[nodiscard]] Passed on_signal(int signal, TimePoint now);

  /// The job is to be ended.
  struct Ending {
    Rescue rescue = Rescue::kNone;
    SupervisorsWord word = {};
  };
  /// @param look_for_end  tells watch() of a recorded end: the job's own word comes first
  [[nodiscard]] std::optional<Ending> check(TimePoint now,
                                            const std::function<void()>& look_for_end);

  /// mpirun has ended, and nothing is left.
  struct Finished {
    int exit_code = 0;
    SupervisorsWord word = {};
  };
  /// @param recorded  how the job said that it ended. @param mpirun_status  as waitpid() has it
  /// @throws EnvironmentError where there is no mpirun
  [[nodiscard]] Finished finish(std::optional<int> recorded, int mpirun_status);
  /// @param status  as the run directory has it at last
  [[nodiscard]] SupervisedEnd end(int exit_code, const std::optional<RunStatus>& status) const;

  /// The supervisor's own.
  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }

 private:
  [[nodiscard]] std::string how_mpirun_ended(int status) const;

  JobWatch watch_;
  bool goes_on_;
  std::optional<int> leave_signal_;
  std::optional<TimePoint> forced_at_;
  std::optional<Verdict> verdict_;
};

}  // namespace gangway::launch
