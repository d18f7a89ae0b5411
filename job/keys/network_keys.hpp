// SPDX-License-Identifier: MIT
// The part of the schema of job files that is there once for each network: its optimiser, schedule,
// clipping and first weights, and its file where it is the user's. job/keys/key_table.cpp has the
// rest. Pure.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends those about the user's own networks: `model.generator`, `model.generator_hash`.
void add_module_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Appends `training.step` and `training.step_hash`.
void add_step_keys(std::vector<Key>& keys);

/// Appends those of the recipe's networks: `generator.…`, `discriminator.…`.
void add_network_keys(const Recipe& recipe, std::vector<Key>& keys);

/// A word for all networks, or a map by network; a network that the map does not name has fp32.
[[nodiscard]] Key wire_key(KeyText text, const Recipe& recipe);
/// The same of what they compute in.
[[nodiscard]] Key precision_key(KeyText text, const Recipe& recipe);

}  // namespace gangway
