// SPDX-License-Identifier: MIT
// A plan as people and as programs read it. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/ranking/search.hpp"

namespace gangway::plan {

/// The job as the user typed it.
struct TypedJob {
  std::string file;
  std::vector<std::string> overrides = {};
  std::string program = "gangway";
};

/// The ranking, why the rows behind the first lose, what the first one's step goes to, and how to
/// run it. Each line ended. @param typed  for the command
[[nodiscard]] std::string plan_text(const Search& search, const PlanInput& input,
                                    const TypedJob& typed);

/// The same as one JSON object.
[[nodiscard]] std::string plan_json(const Search& search, const PlanInput& input,
                                    const TypedJob& typed);

}  // namespace gangway::plan
