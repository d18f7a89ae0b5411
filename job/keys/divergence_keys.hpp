// SPDX-License-Identifier: MIT
// The part of the schema of job files that says what follows of trouble. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.divergence.…` and `training.plateau.…`.
void add_divergence_keys(std::vector<Key>& keys);

}  // namespace gangway
