// SPDX-License-Identifier: MIT
// Replays the lists of all workers with costs in the place of work: how long steps take, where
// workers wait, and what they hold. In order, messages buffered by the sender, one lane a worker
// for exchanges: the executor's rules. No third party.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

/// Seconds are of all steps together; peaks are of all steps.
struct SimulatedWorker {
  double busy_seconds = 0.0;     ///< of compute
  double lane_seconds = 0.0;     ///< of exchanges
  double exposed_seconds = 0.0;  ///< waited for new weights
  double message_seconds = 0.0;  ///< waited for a tensor, or for others at a flush
  int peak_stored = 0;           ///< chunks' forwards of a micro-batch whose backward is to come
  int peak_leaves = 0;           ///< open
  std::int64_t peak_bytes = 0;   ///< stored activations, open leaves, tensors received
};

struct Simulation {
  int first_step = 0;
  std::vector<double> step_ends;  ///< when the last update of each step has begun to be everywhere
  std::vector<SimulatedWorker> workers;
  double seconds = 0.0;  ///< until all is done
  /// By worker and line, when it came to the instruction; empty unless asked for.
  std::vector<std::vector<double>> starts;

  /// Of a step once the pipeline is full: the mean over the steps but the first two and the last,
  /// or over all where there are fewer than five.
  [[nodiscard]] double step_seconds() const;
  /// Share of step_seconds() that `worker` does not compute, or all on average.
  [[nodiscard]] double bubble(int worker) const;
  [[nodiscard]] double bubble() const;
};

enum class SimulatedStarts { kForgotten, kKept };

/// @throws InvariantError naming a worker and its line, where it waits for what never comes
[[nodiscard]] Simulation simulate(const StageSchedule& schedule, const Costs& costs,
                                  SimulatedStarts starts = SimulatedStarts::kForgotten);

}  // namespace gangway::pipeline
