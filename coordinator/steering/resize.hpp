// SPDX-License-Identifier: MIT
// With which other workers, or other shares of the micro-batches, a job leaves to go on: a drain, a
// resize, a balance. Pure; asked by the Conductor.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {

/// What the next start is to be like.
struct Resize {
  int workers = 0;
  std::set<int> drained = {};    ///< ranks that have no successor
  std::vector<int> shares = {};  ///< micro-batches of each worker; empty: as the job has them
  bool operator==(const Resize&) const = default;
};

/// "drained rank 2 at step 40: goes on without".
/// @param moment  "at step 40"
[[nodiscard]] std::string leave_reason(const Resize& resize, const std::string& moment);

/// Puts what the next start is to be like where `gangway run` reads it.
void tell(const std::optional<Resize>& resize, RunStatus& status);

struct DrainableWorker {
  int rank = 0;
  std::string host;
};

/// The ranks on the host of that name, whole or up to its first dot, or else the rank of that
/// number.
/// @throws ConfigError, one line with the remedy, where there is none
[[nodiscard]] std::set<int> ranks_named(const std::string& name,
                                        const std::vector<DrainableWorker>& workers);

/// @throws ConfigError, one line with the remedy, where the layout does not go with so many; shares
/// do not count, they go with the number
void require_layout_with(int workers, const JobSpec& job);

}  // namespace gangway::coordinator
