// SPDX-License-Identifier: MIT
// Rules about networks that only some workers hold. Pure.
#pragma once

#include <vector>

#include "job/models/recipes.hpp"
#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> placement_rules(const Recipe& recipe);

}  // namespace gangway
