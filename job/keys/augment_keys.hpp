// SPDX-License-Identifier: MIT
// Schema keys for the augmentation of pictures that a discriminator judges. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `training.augment.…`.
void add_augmentation_keys(std::vector<Key>& keys);

}  // namespace gangway
