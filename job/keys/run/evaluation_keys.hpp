// SPDX-License-Identifier: MIT
// Schema keys of `evaluation`. Used by key_table.cpp. Pure.
#pragma once

#include <vector>

#include "job/schema/key.hpp"

namespace gangway {

void add_evaluation_keys(std::vector<Key>& keys);

}  // namespace gangway
