// SPDX-License-Identifier: MIT
// Schema keys for the content of a step and the number of steps. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.…`.
void add_training_keys(std::vector<Key>& keys);

}  // namespace gangway
