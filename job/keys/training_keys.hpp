// SPDX-License-Identifier: MIT
// The part of the schema of job files that says what a step does and how many there are. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.…`.
void add_training_keys(std::vector<Key>& keys);

}  // namespace gangway
