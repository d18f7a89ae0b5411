// SPDX-License-Identifier: MIT
// Rules against keys without effect: given keys of a feature that is off. Part of
// job/rules/rules.hpp. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> idle_rules();

}  // namespace gangway
