// SPDX-License-Identifier: MIT
// What the maps of a network begin with, where the job says it. Called by build_networks, before
// Network::initialise draws.
#pragma once

#include "gan/network.hpp"
#include "job/models/initialization.hpp"

namespace gangway::gan {

/// Replaces the kind and the scale of the initial values of all maps (`is_map`) that the family
/// begins with random ones; those that it begins with zeros, because they end a branch, stay. The
/// keys of the draws do too.
void choose_initial_values(Network& network, const InitializationSpec& spec);

}  // namespace gangway::gan
