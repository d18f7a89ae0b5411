// SPDX-License-Identifier: MIT
// What a job would do, without doing it: placement, steps, sizes and memory, for `gangway run
// --dry-run`. Pure.
#pragma once

#include <string>

#include "job/estimate/memory_estimate.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Of the worker that needs most. @pre the job comes from load_job
[[nodiscard]] MemoryEstimate estimate_memory(const Job& job, const Layout& layout);
[[nodiscard]] inline MemoryEstimate estimate_memory(const JobSpec& spec, int workers) {
  return estimate_memory(spec, resolve_layout(spec, workers));
}

/// Whether the layout has no layout.recompute, and that worker would need clearly less with it.
/// @pre as above
[[nodiscard]] bool recompute_saves(const Job& job, const Layout& layout);

/// @throws ConfigError, one line with the remedy, unless 1 <= workers <= training.microbatches,
/// workers equals layout.data where the job fixes that, and a GPU can add up what they bring.
void require_workers(const JobSpec& spec, int workers);

/// The text that `--dry-run` prints: resolved job, placement table, steps, parameters, memory a
/// worker.
/// @param memory  title and rows that take the place of the estimate; empty: estimated
/// @throws ConfigError as require_workers.
[[nodiscard]] std::string describe_dry_run(const JobSpec& spec, int workers,
                                           const std::string& memory = {});

}  // namespace gangway
