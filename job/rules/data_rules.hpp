// SPDX-License-Identifier: MIT
// Rules between the keys of data: a part of job/rules/rules.cpp. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> data_rules();

}  // namespace gangway
