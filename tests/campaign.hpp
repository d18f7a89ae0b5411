// SPDX-License-Identifier: MIT
// Decides how many combinations a test program runs: all of them (label campaign, by hand:
// GANGWAY_CAMPAIGN=1), or enough that any two values of two axes meet. Test thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace gangway::testing {

[[nodiscard]] inline bool is_campaign() { return std::getenv("GANGWAY_CAMPAIGN") != nullptr; }

/// Returns all of 0 .. `count` - 1 in a campaign, else only `turn`.
[[nodiscard]] inline std::vector<std::size_t> turns(std::size_t turn, std::size_t count) {
  std::vector<std::size_t> chosen{turn % count};
  for (std::size_t i = 1; is_campaign() && i < count; ++i) {
    chosen.push_back((turn + i) % count);
  }
  return chosen;
}

}  // namespace gangway::testing
