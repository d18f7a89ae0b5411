// SPDX-License-Identifier: MIT
// Who keeps a copy of whose snapshots. Pure.
#pragma once

#include <vector>

namespace gangway::worker {

/// By worker, the one on the next host that holds its copies; empty where there is one host
/// only.
/// @param hosts  by worker: equal where memory is shared
[[nodiscard]] std::vector<int> buddies_of(const std::vector<int>& hosts);

}  // namespace gangway::worker
