// SPDX-License-Identifier: MIT
// Decides what follows the end of a start: another start, and of what kind, or none. Pure;
// Restarter carries it out on the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "launch/going_on/lineups.hpp"
#include "launch/going_on/restart_book.hpp"
#include "launch/run/supervision.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {

enum class Next {
  kEnd,        ///< with the exit code of the start
  kLeave,      ///< a signal has asked for the end, while another start was due
  kAfterLoss,  ///< if `answer` finds that it can go on
  kAfterResize,
  kAfterRollback
};

class Recovery {
 public:
  /// @param most  layout.restarts. @param newest_start  its number, of the commands before this one
  Recovery(int most, std::int64_t newest_start)
      : book_(most), answers_losses_(most != 0), newest_start_(newest_start) {}

  /// Whether another start follows the loss of the next one.
  [[nodiscard]] bool goes_on() const { return book_.goes_on(); }
  /// Called once behind each start. Where a later one does not begin for what the run's disk or
  /// this host lacks, that is a start in vain.
  /// @param status  as the run directory has it, as `start`, the newest
  [[nodiscard]] Next next(const SupervisedEnd& end, const std::optional<RunStatus>& status,
                          RunStart start);

  struct Answer {
    Restart restart;                                ///< but for its times
    std::optional<std::chrono::milliseconds> wait;  ///< nothing: no start follows
  };
  /// After kAfterLoss. @param choose  chooses the next lineup; false: there is none
  [[nodiscard]] Answer answer(const SupervisedEnd& end, const Lineups& lineups,
                              const std::function<bool()>& choose);

 private:
  [[nodiscard]] Next follower(const SupervisedEnd& end,
                              const std::optional<RunStatus>& status) const;

  RestartBook book_;
  bool answers_losses_;
  std::int64_t newest_start_;  ///< its number, or of the last of another command
  RunStart start_;             ///< the one that has ended; it has begun nowhere where it was lost
                               ///< before the coordinator had the run
  bool is_again_ = false;      ///< it was not the first of this command
};

}  // namespace gangway::launch
