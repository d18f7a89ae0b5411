// SPDX-License-Identifier: MIT
// The part of the schema of job files that says which networks are trained on which examples. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `model.…`, the files of networks of the user's among them.
void add_model_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Appends `data.…`.
void add_data_keys(std::vector<Key>& keys);

}  // namespace gangway
