// SPDX-License-Identifier: MIT
// The inputs of a prediction: job, profile, costs and cluster. Pure.
#pragma once

#include "plan/machines/cluster.hpp"
#include "plan/step_costs.hpp"

namespace gangway::plan {

/// Borrows the inputs: all of them outlive the plan.
struct PlanInput {
  const JobSpec& job;
  const Profile& profile;
  const StepCosts& costs;
  const Cluster& cluster;
};

}  // namespace gangway::plan
