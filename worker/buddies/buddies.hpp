// SPDX-License-Identifier: MIT
// Assigns each worker the buddy on another host that keeps a copy of its snapshots. Pure.
#pragma once

#include <vector>

namespace gangway::worker {

/// Returns by worker the buddy on the next host; empty if there is only one host.
/// @param hosts  by worker: equal where memory is shared
[[nodiscard]] std::vector<int> buddies_of(const std::vector<int>& hosts);

}  // namespace gangway::worker
