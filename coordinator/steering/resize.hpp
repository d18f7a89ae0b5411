// SPDX-License-Identifier: MIT
// A change of workers or micro-batch shares for which a job ends and starts again: drain, resize,
// balance. Pure; used by the Conductor.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {

/// Workers and shares of the next start.
struct Resize {
  int workers = 0;
  std::set<int> drained = {};    ///< ranks without a successor
  std::vector<int> shares = {};  ///< micro-batches of each worker; empty: by the job
  bool operator==(const Resize&) const = default;
};

/// Returns the line for users: "drained rank 2 at step 40: goes on without".
/// @param moment  "at step 40"
[[nodiscard]] std::string leave_reason(const Resize& resize, const std::string& moment);

/// Writes the resize into the status, where `gangway run` reads it.
void tell(const std::optional<Resize>& resize, RunStatus& status);

struct DrainableWorker {
  int rank = 0;
  std::string host;
};

/// Returns the ranks on a host (full name, or up to its first dot), else the rank of that number.
/// @throws ConfigError, one line with the remedy, if there is none
[[nodiscard]] std::set<int> ranks_named(const std::string& name,
                                        const std::vector<DrainableWorker>& workers);

/// @throws ConfigError, one line with the remedy, if the layout cannot have so many workers;
/// ignores shares, which change with the number
void require_layout_with(int workers, const JobSpec& job);

}  // namespace gangway::coordinator
