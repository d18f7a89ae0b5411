// SPDX-License-Identifier: MIT
// What is emulated: chunks of a profiled job on a row of devices, and the lists of each kind of
// schedule. All ranks make the same. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/layout/layout.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/staged/generators.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::bench {

struct CaseOptions {
  std::filesystem::path job;           ///< empty: a GAN of equal chunks, a published breakdown
  std::vector<std::string> overrides;  ///< of its keys
  std::filesystem::path profile;       ///< of that job
  int devices = 4;
  int copies = 1;  ///< rows of devices that share the micro-batches
  int microbatches = 8;
  int r1_interval = 0;  ///< R1 every so many steps; 0: no penalty
  int steps = 8;
  double step_seconds = 1.0;  ///< compute of the busiest device a step: costs are scaled to it
  double hop_seconds = 5e-4;  ///< latency of a message
};

struct EmulatedCase {
  std::vector<pipeline::Phase> phases;
  pipeline::Layout layout;
  pipeline::Costs costs;
  PerNetwork<std::string> names;
  int steps = 0;
  bool has_penalty = false;  ///< whose leaves have a bound of their own (WorkOptions)
};

/// @throws ConfigError naming what does not fit: devices, copies, blocks, the profile
[[nodiscard]] EmulatedCase make_case(const CaseOptions& options);

/// "by-pass", "1f1b", "fused", "fill", "one-leaf" or "capped". @throws ConfigError
[[nodiscard]] pipeline::ScheduleOptions schedule_options(const std::string& name, int microbatches);

/// Lists that the validator has no objection to. @throws InvariantError with the first
[[nodiscard]] pipeline::StageSchedule proved_schedule(const EmulatedCase& of,
                                                      const pipeline::ScheduleOptions& options);

}  // namespace gangway::bench
