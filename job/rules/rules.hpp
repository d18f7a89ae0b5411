// SPDX-License-Identifier: MIT
// What must hold between keys, as data: checked by job/file/parse.cpp, printed in docs/job-file.md.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "job/rules/rule.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Of a job of `recipe`. They stay where they are; any thread.
[[nodiscard]] const std::vector<Rule>& job_rules(const Recipe& recipe = *default_recipe());

/// What is wrong with `job` by the first of them that does not hold; empty: all hold.
[[nodiscard]] std::string broken_rule(const JobSpec& job);

}  // namespace gangway
