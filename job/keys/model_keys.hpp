// SPDX-License-Identifier: MIT
// Schema keys for the networks and the examples of a job. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

/// Appends `model.…`, with the files of the user's networks.
void add_model_keys(const Recipe& recipe, std::vector<Key>& keys);

/// Appends `data.…`.
void add_data_keys(std::vector<Key>& keys);

}  // namespace gangway
