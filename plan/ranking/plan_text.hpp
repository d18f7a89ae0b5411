// SPDX-License-Identifier: MIT
// Formats a plan as text for people and as JSON for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/ranking/search.hpp"

namespace gangway::plan {

/// The job as the user typed it, for the command that runs the layout.
struct TypedJob {
  std::string file;
  std::vector<std::string> overrides = {};
  std::string program = "gangway";
};

/// Returns the ranking, why the other rows lose, the parts of the first row's step, and the command
/// that runs it. Every line ends with a newline. @param typed  for the command
[[nodiscard]] std::string plan_text(const Search& search, const PlanInput& input,
                                    const TypedJob& typed);

/// Returns the same facts as one JSON object.
[[nodiscard]] std::string plan_json(const Search& search, const PlanInput& input,
                                    const TypedJob& typed);

}  // namespace gangway::plan
