// SPDX-License-Identifier: MIT
// Changes a cluster for a what-if: a slow device, a lost node, another link. Pure.
#pragma once

#include <string>

#include "plan/machines/cluster.hpp"

namespace gangway::plan {

/// Returns `cluster` with one change: "slow:NODE/DEVICE=1.5" ("slow:NODE=1.5": all its devices),
/// "lost:NODE", "link:A-B=0.1x", "link:between=0.1x" or "link:inside=0.1x".
/// @throws ConfigError that says what is wrong with `what_if`
[[nodiscard]] Cluster with_what_if(Cluster cluster, const std::string& what_if);

}  // namespace gangway::plan
