// SPDX-License-Identifier: MIT
// Rules between family, recipe, data and batch. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> model_rules();

}  // namespace gangway
