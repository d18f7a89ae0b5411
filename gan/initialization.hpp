// SPDX-License-Identifier: MIT
// Chooses the initial values of a network's maps that the job overrides. Called by build_networks,
// before Network::initialise draws.
#pragma once

#include "gan/network.hpp"
#include "job/models/initialization.hpp"

namespace gangway::gan {

/// Replaces kind and scale of the random initial values of all maps (`is_map`). Maps that the
/// family sets to zero stay zero because they end a branch. The keys of the draws stay the same.
void choose_initial_values(Network& network, const InitializationSpec& spec);

}  // namespace gangway::gan
