// SPDX-License-Identifier: MIT
// Describes a job without running it: placement, steps, sizes and memory, for `gangway run
// --dry-run`. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/estimate/device_estimate.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Estimates the memory of each worker. @pre the job comes from load_job
[[nodiscard]] std::vector<MemoryEstimate> estimate_workers(const Job& job, const Layout& layout);
/// Same, of the worker that needs most.
[[nodiscard]] MemoryEstimate estimate_memory(const Job& job, const Layout& layout);
[[nodiscard]] inline MemoryEstimate estimate_memory(const JobSpec& spec, int workers) {
  return estimate_memory(spec, resolve_layout(spec, workers));
}

/// Returns whether the layout lacks layout.recompute, and that worker would need clearly less with
/// it. @pre as above
[[nodiscard]] bool recompute_saves(const Job& job, const Layout& layout);

/// @throws ConfigError, one line with the remedy, unless 1 <= workers <= training.microbatches,
/// workers equals a fixed layout.data, and a GPU can add up the workers' sums.
void require_workers(const JobSpec& spec, int workers);

/// Returns the text of `--dry-run`: chosen keys of the job, placement table, steps, parameters,
/// memory per worker.
/// @param memory  title and rows that replace the estimate; empty: estimated
/// @throws ConfigError as require_workers.
[[nodiscard]] std::string describe_dry_run(const JobSpec& spec, int workers,
                                           const std::string& memory = {});

}  // namespace gangway
