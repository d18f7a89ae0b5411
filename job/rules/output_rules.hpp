// SPDX-License-Identifier: MIT
// What must hold between the keys that say who may watch and steer a running job. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> output_rules();

}  // namespace gangway
