// SPDX-License-Identifier: MIT
// A cluster as it would be with a slow device, without a node, or with another link. Pure.
#pragma once

#include <string>

#include "plan/machines/cluster.hpp"

namespace gangway::plan {

/// `cluster` as it would be: "slow:NODE/DEVICE=1.5" (or slow:NODE=1.5: all of it), "lost:NODE",
/// "link:A-B=0.1x", "link:between=0.1x", "link:inside=0.1x".
/// @throws ConfigError naming what `what_if` lacks
[[nodiscard]] Cluster with_what_if(Cluster cluster, const std::string& what_if);

}  // namespace gangway::plan
