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
      : book_(most), answers_losses_(most != 0), lost_start_(newest_start) {}

  /// Whether another start follows the loss of the next one.
  [[nodiscard]] bool goes_on() const { return book_.goes_on(); }
  /// @param status  as the run directory has it
  [[nodiscard]] Next next(const SupervisedEnd& end, const std::optional<RunStatus>& status) const;

  struct Answer {
    Restart restart;                                ///< but for its times
    std::optional<std::chrono::milliseconds> wait;  ///< nothing: no start follows
  };
  /// A process or a host was lost.
  /// @param start  the newest. @param choose  chooses the next lineup; false: there is none
  [[nodiscard]] Answer answer(const SupervisedEnd& end, RunStart start, const Lineups& lineups,
                              const std::function<bool()>& choose);

 private:
  RestartBook book_;
  bool answers_losses_;
  std::int64_t lost_start_;  ///< number of the newest that was, or of the last of another command
};

}  // namespace gangway::launch
