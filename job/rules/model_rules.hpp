// SPDX-License-Identifier: MIT
// Rules about what is trained on what: family, recipe, data, batch. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> model_rules();

}  // namespace gangway
