// SPDX-License-Identifier: MIT
#include "launch/plan/stages/working_bytes.hpp"

#include <algorithm>

#include "launch/plan/stages/held_bytes.hpp"

namespace gangway::launch {
namespace {

/// Of one worker and one micro-batch, at most.
std::int64_t held_alone(const PlanInput& input, const BlockCosts& costs, Activations activations) {
  JobSpec one = input.job;
  one.training.microbatches = 1;
  one.training.batch = static_cast<int>(input.job.images_per_microbatch());
  const StagedJob alone =
      staged_job(one, input.costs.phases(),
                 {.workers = 1, .recompute = activations == Activations::kMadeAgain});
  const BlockCosts::Table table = costs.table(alone);
  const StepLists lists = step_lists(alone);
  std::int64_t held = most_held_bytes(lists.usual.front(), table);
  for (const auto& [phase, with] : lists.lazy) {
    held = std::max(held, most_held_bytes(with.front(), table));
  }
  return held;
}

}  // namespace

std::int64_t transient_bytes(const PlanInput& input, const BlockCosts& costs,
                             Activations activations) {
  const MemoryCost& memory = input.profile.memory;
  const std::int64_t kept = std::max<std::int64_t>(
      0, memory.working_bytes - held_alone(input, costs, Activations::kKept));
  return activations == Activations::kKept
             ? kept
             : std::max(kept, memory.recomputing_bytes -
                                  held_alone(input, costs, Activations::kMadeAgain));
}

}  // namespace gangway::launch
