// SPDX-License-Identifier: MIT
// Schema keys that place networks on workers. job/keys/key_table.cpp has the rest. Pure.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends `layout.shares`, and a key per network of the recipe: `layout.generator`,
/// `layout.discriminator`.
void add_placement_keys(const Recipe& recipe, std::vector<Key>& keys);

}  // namespace gangway
