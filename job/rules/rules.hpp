// The rules between keys, as data: checked by job/file/parse.cpp, printed in docs/job-file.md.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "job/rules/rule.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Returns the rules of a job of `recipe`. References stay valid; any thread.
[[nodiscard]] const std::vector<Rule>& job_rules(const Recipe& recipe = *default_recipe());

/// Returns the complaint of the first rule that `job` breaks; empty: all hold.
[[nodiscard]] std::string broken_rule(const JobSpec& job);

}  // namespace gangway
