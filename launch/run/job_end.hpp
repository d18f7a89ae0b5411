// SPDX-License-Identifier: MIT
// Ends a job that does not end by itself, in steps: tells ranks to leave, then kills them. mpirun
// gets SIGTERM before SIGKILL, because it then cleans up (session folders, segments in /dev/shm).
// Called by the supervisor, on its thread.
#pragma once

#include <chrono>
#include <optional>

#include <sys/types.h>

#include "launch/run/tether_server.hpp"

namespace gangway::launch {

/// Whether ranks on other hosts may have snapshots to save before they end.
enum class PendingSaves { kNone, kOnOtherHosts };

class JobEnd {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Tells the ranks to leave.
  JobEnd(TetherServer& tethers, pid_t mpirun, PendingSaves pending_saves, TimePoint now);

  /// kGiveUp: mpirun was killed and does not end, because it hangs in the kernel.
  enum class Next { kWait, kGiveUp };
  /// Takes the steps that are due; call it every few 10 ms until mpirun has ended.
  [[nodiscard]] Next push(TimePoint now);

 private:
  void kill_local_ranks();
  /// Time to signal mpirun: when the ranks' time is over, or when no rank is left.
  [[nodiscard]] TimePoint asking_time(TimePoint now);

  TetherServer& tethers_;
  pid_t mpirun_;
  TimePoint since_;
  std::chrono::milliseconds grace_period_;
  std::optional<TimePoint> empty_since_;  ///< time since which no rank is left
  std::optional<TimePoint> asked_;        ///< time of the signal to mpirun
};

/// Kills stopped ranks: they cannot leave by themselves.
void kill_stopped_ranks();

/// Waits briefly until every descendant of this process has ended, and kills the rest.
/// @return false if a process cannot be killed because it hangs in the kernel
[[nodiscard]] bool end_descendants();

}  // namespace gangway::launch
