// SPDX-License-Identifier: MIT
// Rules between the keys of the live page and of control. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> output_rules();

}  // namespace gangway
