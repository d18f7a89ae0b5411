// SPDX-License-Identifier: MIT
// Decides for the supervisor of one start which signal it passes on, when it ends the job, and
// which exit code follows. A pure state machine: launch/run/supervise.cpp passes in events and
// executes the decisions, on the main thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launch/run/job_end.hpp"
#include "launch/run/job_watch.hpp"
#include "run/run_end.hpp"

namespace gangway::launch {

/// One line for the user.
struct SupervisorLine {
  std::string line;            ///< empty: no output
  bool tells_command = false;  ///< adds the command that resumes the run
  bool tells_logs = true;      ///< appends the log folder to that command
};

class Supervision {
 public:
  using TimePoint = JobWatch::TimePoint;
  /// From the second SIGINT to the supervisor's own end of the job.
  static constexpr std::chrono::milliseconds kAfterForce{1'500};

  /// @param goes_on  another start follows a loss
  Supervision(int ranks, bool goes_on, TimePoint start, const WatchLimits& limits)
      : watch_(ranks, start, limits), goes_on_(goes_on) {}

  [[nodiscard]] JobWatch& watch() { return watch_; }
  [[nodiscard]] const JobWatch& watch() const { return watch_; }

  /// Reaction to a signal to the supervisor.
  struct Passed {
    int to_mpirun = 0;       ///< signal to pass on; 0: none
    bool ends_now = false;   ///< sends SIGINT to the coordinator
    bool tells_how = false;  ///< tells the user the effect of a second Ctrl-C
  };
  [[nodiscard]] Passed on_signal(int signal, TimePoint now);

  /// Instructions for ending the job.
  struct Ending {
    PendingSaves pending_saves = PendingSaves::kNone;
    SupervisorLine word = {};
  };
  /// @param look_for_end  records an end in watch(), if any: the job's own reason has priority
  [[nodiscard]] std::optional<Ending> check(TimePoint now,
                                            const std::function<void()>& look_for_end);

  /// Result after mpirun has ended and no process is left.
  struct Finished {
    RunEnd end;
    SupervisorLine word = {};
  };
  /// @param recorded  end that the job recorded. @param mpirun_status  of waitpid()
  /// @throws EnvironmentError if mpirun does not exist
  [[nodiscard]] Finished finish(const std::optional<RunEnd>& recorded, int mpirun_status);

  /// Returns the supervisor's own decision to end the job.
  [[nodiscard]] const std::optional<RunEnd>& own_end() const { return own_end_; }

 private:
  [[nodiscard]] std::string how_mpirun_ended(int status) const;

  JobWatch watch_;
  bool goes_on_;
  std::optional<int> leave_signal_;
  std::optional<TimePoint> forced_at_;
  std::optional<RunEnd> own_end_;
};

}  // namespace gangway::launch
