// SPDX-License-Identifier: MIT
// The part of the schema of job files that is there once for each network: its optimiser, schedule,
// clipping and first weights. job/keys/key_table.cpp has the rest. Pure.
#pragma once

#include <vector>

#include "job/keys/key.hpp"

namespace gangway {

/// Appends the keys `generator.…` and `discriminator.…`.
void add_network_keys(std::vector<Key>& keys);

}  // namespace gangway
