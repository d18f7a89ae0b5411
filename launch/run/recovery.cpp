// SPDX-License-Identifier: MIT
#include "launch/run/recovery.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::launch {

Next Recovery::next(const SupervisedEnd& end, const std::optional<RunStatus>& status) const {
  if (answers_losses_ && !end.was_to_leave &&
      end.exit_code == static_cast<int>(ExitCode::kWorkerLost)) {
    return Next::kAfterLoss;
  }
  const bool counts = status && status->exit_code == end.exit_code;
  const bool rolls_back =
      counts && status->rolled_back && end.exit_code == static_cast<int>(ExitCode::kDiverged);
  const bool resizes =
      counts && status->workers > 0 && end.exit_code == static_cast<int>(ExitCode::kPreempted);
  if (!rolls_back && !resizes) {
    return Next::kEnd;
  }
  return end.was_to_leave ? Next::kLeave : resizes ? Next::kAfterResize : Next::kAfterRollback;
}

Recovery::Answer Recovery::answer(const SupervisedEnd& end, RunStart start, const Lineups& lineups,
                                  const std::function<bool()>& choose) {
  if (std::exchange(lost_start_, start.incarnation) == start.incarnation) {
    start.begun.reset();  // of the one before: this did not come as far as the coordinator
  }
  Answer answer{.restart = {.start = start.incarnation,
                            .begun = start.begun,
                            .why = end.reason,
                            .host = lineups.host_of(end.lost),
                            .left_out = {},
                            .answer = {}},
                .wait = book_.lost(start.begun)};
  Restart& restart = answer.restart;
  if (!answer.wait) {
    restart.answer = "given up: " + book_.why_not();
  } else if (!choose()) {
    restart.answer = "given up: too few workers are left (layout.min_workers)";
    answer.wait.reset();
  } else {
    restart.left_out = lineups.now().left_out;
    restart.workers = lineups.now().workers;
    restart.answer = fmt::format(
        "started again with {} worker{}{}{}", restart.workers, restart.workers == 1 ? "" : "s",
        restart.left_out.empty() ? ""
                                 : fmt::format(", without {}", fmt::join(restart.left_out, ", ")),
        answer.wait->count() > 0 ? fmt::format(", after {} s", answer.wait->count() / 1000) : "");
  }
  return answer;
}

}  // namespace gangway::launch
