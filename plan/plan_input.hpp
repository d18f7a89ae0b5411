// SPDX-License-Identifier: MIT
// What a plan is made of. Pure.
#pragma once

#include "plan/machines/cluster.hpp"
#include "plan/step_costs.hpp"

namespace gangway::plan {

/// All of it outlives the plan.
struct PlanInput {
  const JobSpec& job;
  const Profile& profile;
  const StepCosts& costs;
  const Cluster& cluster;
};

}  // namespace gangway::plan
