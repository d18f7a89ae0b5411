// SPDX-License-Identifier: MIT
// Rules about a discriminator's regularisation beside its loss. Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

[[nodiscard]] std::vector<Rule> discriminator_rules();

}  // namespace gangway
