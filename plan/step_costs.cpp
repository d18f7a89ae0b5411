// SPDX-License-Identifier: MIT
#include "plan/step_costs.hpp"

#include <algorithm>

#include "pipeline/schedule.hpp"

namespace gangway::plan {
namespace {

StagedJob whole_job(const JobSpec& job, const std::vector<pipeline::Phase>& phases,
                    bool recompute) {
  Candidate one = whole_candidate(job, 1);
  one.choice.recompute = recompute;
  return staged_job(job, phases, one);
}

}  // namespace

StepCosts::StepCosts(const Profile& profile, const std::vector<pipeline::Phase>& phases,
                     const JobSpec& job)
    : phases_(phases),
      blocks_(job, profile, phases_),
      kept_(blocks_.table(whole_job(job, phases_, false))),
      made_again_(blocks_.table(whole_job(job, phases_, true))) {
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
