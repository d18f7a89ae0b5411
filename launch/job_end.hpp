// SPDX-License-Identifier: MIT
// Ends a job that does not end by itself, step by step: ranks are told to leave, then killed;
// mpirun follows its last rank at once, and is asked before it is killed, because it cleans up
// after the job (session folders, segments in /dev/shm). Used by the supervisor, on its thread.
#pragma once

#include <chrono>

#include <sys/types.h>

#include "launch/tether_server.hpp"

namespace gangway::launch {

class JobEnd {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Tells the ranks.
  JobEnd(TetherServer& tethers, pid_t mpirun, TimePoint now);

  /// What is due by now; to be called every few ten milliseconds until mpirun has ended.
  void push(TimePoint now);

 private:
  void kill_local_ranks();
  void ask_mpirun();

  TetherServer& tethers_;
  pid_t mpirun_;
  TimePoint since_;
  std::chrono::milliseconds patience_;  ///< until mpirun is asked
  bool is_asked_ = false;
};

/// Waits, not for long, until every process below this one has ended, and kills those that remain.
/// @return false where one cannot be killed: it hangs in the kernel.
[[nodiscard]] bool end_descendants();

}  // namespace gangway::launch
