// SPDX-License-Identifier: MIT
#include "launch/run/recovery.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway::launch {

Next Recovery::next(const RunEnd& end, RunStart start) {
  start_ = std::move(start);
  if (std::exchange(newest_start_, start_.incarnation) == start_.incarnation) {
    start_.begun.reset();  // from the start before: this one did not reach the coordinator
  }
  const Next next = follower(end);
  is_restart_ = true;
  if (next == Next::kAfterRollback) {
    policy_.rolled_back();
  }
  return next;
}

Next Recovery::follower(const RunEnd& end) const {
  const bool is_in_vain = is_restart_ && !start_.begun && end.is(ExitCode::kEnvironment);
  if (answers_losses_ && !end.was_to_leave && (end.is(ExitCode::kWorkerLost) || is_in_vain)) {
    return Next::kAfterLoss;
  }
  const bool rolls_back = end.rolled_back && end.is(ExitCode::kDiverged);
  const bool resizes = end.resize && end.is(ExitCode::kPreempted);
  if (!rolls_back && !resizes) {
    return Next::kEnd;
  }
  return end.was_to_leave ? Next::kLeave : resizes ? Next::kAfterResize : Next::kAfterRollback;
}

Recovery::Answer Recovery::answer(const RunEnd& end, const HostAllocator& host_allocator,
                                  const std::function<bool()>& choose) {
  // Waits longer for a full disk: it does not get room within seconds.
  const int slower = end.is(ExitCode::kEnvironment) ? 60 : 1;
  Answer answer{.restart = {.start = start_.incarnation,
                            .begun = start_.begun,
                            .why = end.reason,
                            .host = host_allocator.host_of(end.rank)},
                .wait = policy_.lost(start_.begun)};
  if (answer.wait) {
    *answer.wait *= slower;
  }
  Restart& restart = answer.restart;
  if (!answer.wait) {
    restart.answer = "given up: " + policy_.why_not();
  } else if (!choose()) {
    restart.answer = "given up: too few workers are left (layout.min_workers)";
    answer.wait.reset();
  } else {
    restart.left_out = host_allocator.now().left_out;
    restart.workers = host_allocator.now().workers;
    restart.answer = fmt::format(
        "started again with {} worker{}{}{}", restart.workers, restart.workers == 1 ? "" : "s",
        restart.left_out.empty() ? ""
                                 : fmt::format(", without {}", fmt::join(restart.left_out, ", ")),
        answer.wait->count() > 0 ? fmt::format(", after {} s", answer.wait->count() / 1000) : "");
  }
  return answer;
}

}  // namespace gangway::launch
