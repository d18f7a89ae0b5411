// SPDX-License-Identifier: MIT
// Predicts step time and memory of a data-parallel layout. Simulates the workers' lists on devices,
// lanes and links; simulates identical workers once. Pure.
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
  double efficiency = 0.0;               ///< step rate over the sum of the devices' rates alone
  std::int64_t bytes_between_hosts = 0;  ///< payload that all hosts send in a step
  WorkerMemory memory;                   ///< of the worker that fills its device most
  std::int64_t memory_limit = 0;         ///< bytes of that worker's device; 0: unknown
  bool fits = true;
  /// Memory that the layout would need without layout.recompute; 0: it does not recompute.
  std::int64_t kept_memory_bytes = 0;
  double price_per_kimg = 0.0;  ///< 0: unknown
};

/// Predicts a data-parallel layout.
/// @pre workers <= devices of the cluster, and workers <= micro-batches of the job
[[nodiscard]] Prediction predict(const PlanInput& input, const Candidate& candidate);

/// The memory that a worker needs, and the bytes of its device (0: unknown).
struct DeviceNeed {
  WorkerMemory memory;
  std::int64_t limit = 0;
};
/// Sets the prediction's memory, limit and fit to those of the fullest device; of equally full ones
/// the first. @pre `needs` is not empty
void set_fullest(const std::vector<DeviceNeed>& needs, Prediction& prediction);

/// Sets rate, efficiency and price from step_seconds and the workers' places.
void set_step_figures(const PlanInput& input, const std::vector<WorkerPlace>& places,
                      Prediction& prediction);

/// Returns a lower bound of step seconds: the largest micro-batch share on the fastest device.
[[nodiscard]] double least_seconds(const PlanInput& input, int workers);

}  // namespace gangway::plan
