// SPDX-License-Identifier: MIT
// Parts of the table of keys in job/keys/key_table.cpp. A part has a source of its name. Pure,
// except that the keys of a library read the library.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Appends `model.…`, with the files of the user's networks.
void add_model_keys(const Recipe& recipe, std::vector<Key>& keys);
/// Appends `data.…`.
void add_data_keys(std::vector<Key>& keys);

/// Appends `training.…`.
void add_training_keys(std::vector<Key>& keys);
/// Appends `training.augment.…`.
void add_augmentation_keys(std::vector<Key>& keys);
/// Appends `training.divergence.…` and `training.plateau.…`.
void add_divergence_keys(std::vector<Key>& keys);
/// Appends `evaluation.…`.
void add_evaluation_keys(std::vector<Key>& keys);

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

/// Appends `layout.shares`, and a key per network: `layout.generator`, `layout.discriminator`.
void add_placement_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Returns `model.family`: a family of the table, or of the job's library.
[[nodiscard]] Key family_key(const KeyText& text);
/// Returns `training.recipe`, likewise.
[[nodiscard]] Key recipe_key(const KeyText& text);
/// Appends `model.library` and `model.library_hash`.
void add_library_keys(std::vector<Key>& keys);
/// Returns whether `key` must be set before all others, because these may name rows of the library.
[[nodiscard]] bool is_about_library(const Key& key);

}  // namespace gangway
