// SPDX-License-Identifier: MIT
// Ends a job that does not end by itself, step by step: ranks are told to leave, then killed;
// mpirun follows its last rank at once, and is asked before it is killed, because it cleans up
// after the job (session folders, segments in /dev/shm). Used by the supervisor, on its thread.
#pragma once

#include <chrono>
#include <optional>

#include <sys/types.h>

#include "launch/run/tether_server.hpp"

namespace gangway::launch {

/// Whether ranks on other hosts may have snapshots to save before they leave.
enum class Rescue { kNone, kOnOtherHosts };

class JobEnd {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Tells the ranks.
  JobEnd(TetherServer& tethers, pid_t mpirun, Rescue rescue, TimePoint now);

  /// What is due by now; to be called every few ten milliseconds until mpirun has ended.
  void push(TimePoint now);

 private:
  void kill_local_ranks();
  /// When mpirun is to be asked: ranks have had their time, or none is left.
  [[nodiscard]] TimePoint asking_time(TimePoint now);

  TetherServer& tethers_;
  pid_t mpirun_;
  TimePoint since_;
  std::chrono::milliseconds patience_;
  std::optional<TimePoint> deserted_;  ///< since when no rank is left
  std::optional<TimePoint> asked_;     ///< mpirun
};

/// Kills what is stopped: it cannot leave by itself.
void kill_stopped_ranks();

/// Waits, not for long, until every process below this one has ended, and kills those that remain.
/// @return false where one cannot be killed: it hangs in the kernel.
[[nodiscard]] bool end_descendants();

}  // namespace gangway::launch
