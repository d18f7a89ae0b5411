// SPDX-License-Identifier: MIT
// Rules between augmentation and the rest of a job. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> augment_rules();

}  // namespace gangway
