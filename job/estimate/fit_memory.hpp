// SPDX-License-Identifier: MIT
// Finds the smallest change of a job after which its estimated memory fits. `gangway run` makes
// changes of the layout by itself; --fit also finds micro-batches. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Memory for a job's workers on one host.
struct DeviceMemory {
  std::int64_t bytes = 0;  ///< of the smallest GPU, or of the host; 0: unknown
  int gpus = 0;            ///< which the workers share evenly; 0: all workers share the host
};

/// Returns the bytes that `job` needs of the fullest GPU, or of the host.
/// @throws ConfigError as resolve_layout
[[nodiscard]] std::int64_t needed_bytes(const JobSpec& job, int workers,
                                        const DeviceMemory& memory);

struct FittingJob {
  JobSpec job;
  int workers = 1;
  std::int64_t needed_bytes = 0;
};

enum class FitBy {
  kLayout,        ///< changes no bit
  kMicrobatches,  ///< may also double training.microbatches: another job
};

struct FitLimits {
  DeviceMemory memory;
  std::set<std::string> given = {};  ///< keys that stay, because the job gives them
  int most_workers = 1;
  FitBy by = FitBy::kLayout;
};

/// Tries, cheapest first, for the job's micro-batches and then for twice as many: nothing, plain
/// steps in place of recorded ones, activation checkpointing, both; on GPUs then all of these with
/// 2, 4, … stages.
/// @return the first that fits; nullopt: none does
[[nodiscard]] std::optional<FittingJob> find_fitting(const JobSpec& job, int workers,
                                                     const FitLimits& limits);

}  // namespace gangway
