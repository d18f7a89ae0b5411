// SPDX-License-Identifier: MIT
// Schema keys that exist once per network: optimiser, schedule, clipping, first weights, and the
// file of a user's network. job/keys/key_table.cpp has the rest. Pure.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends the keys of the user's networks: `model.generator`, `model.generator_hash`.
void add_module_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Appends `training.step` and `training.step_hash`.
void add_step_keys(std::vector<Key>& keys);

/// Appends the keys of the recipe's networks: `generator.…`, `discriminator.…`.
void add_network_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Returns a key whose value is a word for all networks, or a map by network; the default is fp32.
[[nodiscard]] Key wire_key(KeyText text, const Recipe& recipe);
/// Same, for the precision in which networks compute.
[[nodiscard]] Key precision_key(KeyText text, const Recipe& recipe);

}  // namespace gangway
