// SPDX-License-Identifier: MIT
// Builds the networks of a job from their architecture (job/families/families.hpp). Called once
// when a process begins to train or to generate.
#pragma once

#include "gan/network.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Builds one network. Weights are zero until Network::initialise; a user's network has its own.
/// @throws ConfigError naming key and file, if a user's network cannot be trained
[[nodiscard]] Network build_network(const Architecture& architecture, NetworkId id = {});

[[nodiscard]] PerNetwork<Network> build_networks(const Job& job);

}  // namespace gangway::gan
