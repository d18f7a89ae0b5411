// SPDX-License-Identifier: MIT
// What must hold between keys, as data: checked by job/file/parse.cpp, printed in docs/job-file.md.
// Pure.
#pragma once

#include <vector>

#include "job/rules/rule.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Of a job of `recipe`. They stay where they are; any thread.
[[nodiscard]] const std::vector<Rule>& job_rules(const Recipe& recipe = *default_recipe());

}  // namespace gangway
