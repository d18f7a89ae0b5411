// SPDX-License-Identifier: MIT
#include "plan/step_costs.hpp"

#include <algorithm>

#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::plan {
StepCosts::StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases,
                     const JobSpec& job)
    : phases_(phases),
      blocks_(job, profile, phases_),
      whole_(blocks_.table(staged_job(job, phases_, whole_candidate(job, 1)))) {
  const PerNetwork<std::string> names = job.network_names();
  for (const pipeline::Phase& phase : phases_) {
    for (const pipeline::Instruction& at :
         pipeline::one_stage_schedule({phase}, {0, 1}, 0, Overlap::kNone)) {
      if (at.operation != pipeline::Operation::kReduce) {
        microbatch_seconds_ += profile.cost_of(at, names).seconds / phase.interval;
      }
    }
  }
}

bool StepCosts::agrees() const {
  return std::ranges::any_of(phases_, [](const pipeline::Phase& phase) { return phase.agrees; });
}

double StepCosts::updates_in_step(NetworkId network) const {
  double updates = 0.0;
  for (const pipeline::Phase& phase : phases_) {
    if (pipeline::trains(phase, network)) {
      updates += static_cast<double>(phase.repeats) / phase.interval;
    }
  }
  return updates;
}

}  // namespace gangway::plan
