// SPDX-License-Identifier: MIT
// Schema keys for the reaction to training trouble. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.divergence.…` and `training.plateau.…`.
void add_divergence_keys(std::vector<Key>& keys);

}  // namespace gangway
