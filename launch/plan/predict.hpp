// SPDX-License-Identifier: MIT
// How long a step takes under a layout, and how much memory it needs: the workers' programs on
// simulated devices, lanes and links. Workers that are alike are simulated once. Pure.
#pragma once

#include <cstdint>

#include "launch/plan/machines/cluster.hpp"
#include "launch/plan/memory.hpp"
#include "launch/plan/planned_layout.hpp"
#include "launch/plan/profiles/profile.hpp"
#include "launch/plan/step_program.hpp"
#include "launch/plan/step_simulation.hpp"

namespace gangway::launch {

/// What a plan is made of; all outlive it.
struct PlanInput {
  const JobSpec& job;
  const Profile& profile;
  const StepCosts& costs;
  const Cluster& cluster;
};

struct Prediction {
  PlannedLayout layout;
  double step_seconds = 0.0;
  StepParts parts;  ///< of a step without lazy phases
  double images_per_second = 0.0;
  double efficiency = 0.0;               ///< of the same devices if each trained without others
  std::int64_t bytes_between_hosts = 0;  ///< payload that all hosts send in a step
  WorkerMemory memory;                   ///< of the worker that needs most of its device
  std::int64_t memory_limit = 0;         ///< of that device; 0: unknown
  bool fits = true;
  /// Of the same layout without layout.recompute, where it has that; 0: it has not.
  std::int64_t kept_memory_bytes = 0;
  double price_per_kimg = 0.0;  ///< 0: unknown
};

/// Of a data-parallel layout.
/// @pre it has no more workers than the cluster devices, nor than the job micro-batches
[[nodiscard]] Prediction predict(const PlanInput& input, const PlannedLayout& layout);

/// Factor of compute where `workers` of a node's devices compute at once.
[[nodiscard]] double slowdown_of(const Profile& profile, const ClusterNode& node, int workers);
/// Share of a lane's work that compute loses there: nothing while cores are free.
[[nodiscard]] double lane_steal(const ClusterNode& node, int workers);

/// Rate, efficiency and price, which follow from step_seconds and who takes part.
void set_step_figures(const PlanInput& input, const std::vector<WorkerPlace>& places,
                      Prediction& prediction);

/// What no schedule goes below: the largest share of micro-batches on the fastest device.
[[nodiscard]] double least_seconds(const PlanInput& input, int workers);

}  // namespace gangway::launch
