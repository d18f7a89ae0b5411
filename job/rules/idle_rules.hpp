// SPDX-License-Identifier: MIT
// Rules about keys that would say nothing: they are given, and what they are about is switched off.
// Part of job/rules/rules.hpp. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> idle_rules();

}  // namespace gangway
