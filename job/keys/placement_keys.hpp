// SPDX-License-Identifier: MIT
// The part of the schema of job files that places networks on workers. job/keys/key_table.cpp has
// the rest. Pure.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends `layout.shares`, and one for each of the recipe's networks: `layout.generator`,
/// `layout.discriminator`.
void add_placement_keys(const Recipe& recipe, std::vector<Key>& keys);

}  // namespace gangway
