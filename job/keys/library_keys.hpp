// Keys about the user's library, and keys whose words it extends. Pure, except that it reads the
// library.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// Returns `model.family`: a family of the table, or of the job's library.
[[nodiscard]] Key family_key(KeyText text);

/// Returns `training.recipe`, likewise.
[[nodiscard]] Key recipe_key(KeyText text);

/// Appends `model.library` and `model.library_hash`.
void add_library_keys(std::vector<Key>& keys);

/// Returns whether `key` must be set before all others, because these may name rows of the library.
[[nodiscard]] bool is_about_library(const Key& key);

}  // namespace gangway
