// SPDX-License-Identifier: MIT
// Rules between keys about schedules (job/schedules/schedule.hpp): part of job/rules/rules.hpp.
// Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"

namespace gangway {

/// Returns the rules for all schedules of a job of `recipe`.
[[nodiscard]] std::vector<Rule> schedule_rules(const Recipe& recipe);

}  // namespace gangway
