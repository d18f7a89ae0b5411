// SPDX-License-Identifier: MIT
// Rules about what discriminators learn beside their loss. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> discriminator_rules();

}  // namespace gangway
