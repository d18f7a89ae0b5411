// SPDX-License-Identifier: MIT
// How long a step takes under a data-parallel layout, and how much memory it needs: the workers'
// lists on simulated devices, lanes and links. Workers that are alike are simulated once. Pure.
#pragma once

#include <cstdint>

#include "plan/candidate.hpp"
#include "plan/memory.hpp"
#include "plan/plan_input.hpp"
#include "plan/simulation.hpp"

namespace gangway::plan {

struct Prediction {
  Candidate candidate;
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
[[nodiscard]] Prediction predict(const PlanInput& input, const Candidate& candidate);

/// What a worker needs of its device, and has; 0: that is unknown.
struct DeviceNeed {
  WorkerMemory memory;
  std::int64_t limit = 0;
};
/// The prediction's memory is that of the worker that needs most of its device, the first of those
/// alike. @pre there is one
void set_fullest(const std::vector<DeviceNeed>& needs, Prediction& prediction);

/// Sets rate, efficiency and price by step_seconds and the places of the workers.
void set_step_figures(const PlanInput& input, const std::vector<WorkerPlace>& places,
                      Prediction& prediction);

/// What no schedule goes below: the largest share of micro-batches on the fastest device.
[[nodiscard]] double least_seconds(const PlanInput& input, int workers);

}  // namespace gangway::plan
