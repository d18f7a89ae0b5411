// SPDX-License-Identifier: MIT
// The part of the schema of job files that says what is done to pictures before a discriminator
// judges them. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.augment.…`.
void add_augmentation_keys(std::vector<Key>& keys);

}  // namespace gangway
