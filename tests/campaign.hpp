// SPDX-License-Identifier: MIT
// Whether a test program goes through every combination (label campaign, by hand:
// GANGWAY_CAMPAIGN=1), or through so many that any two values of two axes meet. Test thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace gangway::testing {

[[nodiscard]] inline bool is_campaign() { return std::getenv("GANGWAY_CAMPAIGN") != nullptr; }

/// All of 0 .. `count` - 1 in a campaign, else the one whose turn it is.
[[nodiscard]] inline std::vector<std::size_t> turns(std::size_t turn, std::size_t count) {
  std::vector<std::size_t> chosen{turn % count};
  for (std::size_t i = 1; is_campaign() && i < count; ++i) {
    chosen.push_back((turn + i) % count);
  }
  return chosen;
}

}  // namespace gangway::testing
