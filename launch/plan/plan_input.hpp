// SPDX-License-Identifier: MIT
// What a plan is made of. Pure.
#pragma once

#include "launch/plan/machines/cluster.hpp"
#include "launch/plan/step_costs.hpp"

namespace gangway::launch {

/// All of it outlives the plan.
struct PlanInput {
  const JobSpec& job;
  const Profile& profile;
  const StepCosts& costs;
  const Cluster& cluster;
};

}  // namespace gangway::launch
