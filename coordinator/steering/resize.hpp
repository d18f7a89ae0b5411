// SPDX-License-Identifier: MIT
// A change of workers or micro-batch shares for which a job ends and starts again: drain, resize,
// balance. Pure; used by RunCore.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "run/run_end.hpp"

namespace gangway::coordinator {

/// Returns the line for users: "drained rank 2 at step 40: continues with the rest".
/// @param moment  "at step 40"
[[nodiscard]] std::string leave_reason(const Resize& resize, const std::string& moment);

struct DrainableWorker {
  Rank rank{};
  std::string host;
};

/// Returns the ranks on a host (full name, or up to its first dot), else the rank of that number.
/// @throws ConfigError, one line with the remedy, if there is none
[[nodiscard]] std::set<Rank> ranks_named(const std::string& name,
                                         const std::vector<DrainableWorker>& workers);

/// @throws ConfigError, one line with the remedy, if the layout cannot have so many workers;
/// ignores shares, which change with the number
void require_layout_with(int workers, const JobSpec& job);

}  // namespace gangway::coordinator
