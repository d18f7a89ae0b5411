// SPDX-License-Identifier: MIT
// Keys about the user's library, and those whose words it adds to. Pure but for looking at the
// library.
#pragma once

#include <vector>

#include "job/schema/key_types.hpp"

namespace gangway {

/// `model.family`: a family of the table, or of the job's library.
[[nodiscard]] Key family_key(KeyText text);

/// `training.recipe`, likewise.
[[nodiscard]] Key recipe_key(KeyText text);

/// Appends `model.library` and `model.library_hash`.
void add_library_keys(std::vector<Key>& keys);

/// Those are to be set before all others, which may name what the library has.
[[nodiscard]] bool is_about_library(const Key& key);

}  // namespace gangway
