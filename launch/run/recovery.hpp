// SPDX-License-Identifier: MIT
// Decides what follows the end of a start: another start of some kind, or none. Pure; Restarter
// executes the decision on the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "launch/going_on/host_allocator.hpp"
#include "launch/going_on/restart_policy.hpp"
#include "run/restart_file.hpp"
#include "run/run_end.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {

enum class Next {
  kEnd,        ///< ends with the exit code of the start
  kLeave,      ///< a signal asked for the end while another start was due
  kAfterLoss,  ///< if `answer` allows another start
  kAfterResize,
  kAfterRollback
};

class Recovery {
 public:
  /// @param most  layout.restarts. @param newest_start  its number before this command
  Recovery(int most, std::int64_t newest_start)
      : policy_(most), answers_losses_(most != 0), newest_start_(newest_start) {}

  /// True if another start follows the loss of the next start.
  [[nodiscard]] bool goes_on() const { return policy_.goes_on(); }
  /// Called once after each start. A later start that cannot begin, because the run's disk or this
  /// host lacks something, counts as a start without progress.
  /// @param start  the newest start
  [[nodiscard]] Next next(const RunEnd& end, RunStart start);

  struct Answer {
    Restart restart;                                ///< without its times
    std::optional<std::chrono::milliseconds> wait;  ///< nullopt: no start follows
  };
  /// Called after kAfterLoss. @param choose  chooses the next allocation; false: none is possible
  [[nodiscard]] Answer answer(const RunEnd& end, const HostAllocator& host_allocator,
                              const std::function<bool()>& choose);

 private:
  [[nodiscard]] Next follower(const RunEnd& end) const;

  RestartPolicy policy_;
  bool answers_losses_;
  std::int64_t newest_start_;  ///< its number, or that of the last start of another command
  RunStart start_;             ///< the start that ended; has no first step if it was lost
                               ///< before the coordinator had the run
  bool is_restart_ = false;    ///< not the first start of this command
};

}  // namespace gangway::launch
