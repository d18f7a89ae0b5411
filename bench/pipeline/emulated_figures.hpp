// SPDX-License-Identifier: MIT
// What an emulated run of a schedule showed, beside what the simulator says of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/pipeline/emulated_device.hpp"
#include "pipeline/simulator/simulator.hpp"

namespace gangway::bench {

struct RunFigures {
  double step_seconds = 0.0;  ///< Simulation's, by the clock
  double bubble = 0.0;        ///< share of it that devices do not work, on average
  /// Largest difference of an instruction's start from the simulated one, as a share of a step:
  /// counted from the first start of its step on any device, and from the beginning of the run.
  double start_error = 0.0;
  double run_error = 0.0;
  int peak_stored = 0;
  int peak_leaves = 0;
  std::int64_t messages = 0;  ///< sent, and received
};

/// @param devices  by worker @pre simulated kept its starts
/// @throws InvariantError where more messages were sent than received
[[nodiscard]] RunFigures run_figures(const pipeline::StageSchedule& schedule,
                                     const pipeline::Simulation& simulated,
                                     const std::vector<DeviceFigures>& devices);

[[nodiscard]] std::string header_line();
/// @param runs  of one schedule @param by_pass_seconds  median step that the ratio is to; 0: none
[[nodiscard]] std::string figures_line(const std::string& name,
                                       const pipeline::Simulation& simulated,
                                       const std::vector<RunFigures>& runs, double by_pass_seconds);

[[nodiscard]] double median_step(const std::vector<RunFigures>& runs);

}  // namespace gangway::bench
