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
        const double seconds = profile.cost_of(at, names).seconds;
        const bool has_kernels = at.goes_back() || at.operation == pipeline::Operation::kForward ||
                                 at.operation == pipeline::Operation::kPenaltyForward;
        work_.push_back({.seconds = seconds,
                         .kernels = has_kernels ? node_of(whole_, at).kernels_of(at) : 0.0,
                         .interval = phase.interval});
        microbatch_seconds_ += seconds / phase.interval;
      }
    }
  }
}

double StepCosts::microbatch_seconds_on(const SimulatedDevice& device) const {
  double seconds = 0.0;
  for (const Work& work : work_) {
    seconds += device.alone(work.seconds, work.kernels) / work.interval;
  }
  return seconds;
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
