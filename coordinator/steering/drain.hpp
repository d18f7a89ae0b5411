// SPDX-License-Identifier: MIT
// Which workers a job can go on without, by the name that a person gives. Pure; asked by the
// Conductor.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::coordinator {

struct DrainableWorker {
  int rank = 0;
  std::string host;
};

/// The ranks on the host of that name, whole or up to its first dot, or else the rank of that
/// number.
/// @throws ConfigError, one line with the remedy, where there is none
[[nodiscard]] std::set<int> ranks_named(const std::string& name,
                                        const std::vector<DrainableWorker>& workers);

/// @param left  workers that are to go on
/// @throws ConfigError, one line with the remedy, where the layout needs more
void require_layout_without(const std::string& name, const JobSpec& job, int left);

}  // namespace gangway::coordinator
