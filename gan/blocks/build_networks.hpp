// SPDX-License-Identifier: MIT
// The networks of a job, made from their architecture (job/families/families.hpp). Called once
// where a process begins to train or to generate.
#pragma once

#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Weights are zero until Network::initialise, but for those of a user's network.
/// @throws ConfigError naming key and file of a user's network that cannot be trained
[[nodiscard]] Network build_network(const Architecture& architecture, NetworkId id = {});

[[nodiscard]] PerNetwork<Network> build_networks(const Job& job);

}  // namespace gangway::gan
