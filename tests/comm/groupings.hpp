// SPDX-License-Identifier: MIT
// Assignments of workers to hosts for tests of the reduction.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::comm {

struct Grouping {
  std::vector<int> hosts;  ///< by worker
};

inline std::vector<Grouping> groupings() {
  return {{{0}},
          {{0, 0}},
          {{0, 1}},
          {{0, 0, 0}},
          {{0, 0, 1}},
          {{0, 1, 0}},
          {{0, 1, 2}},
          {{0, 0, 0, 0}},
          {{0, 0, 1, 1}},
          {{0, 1, 1, 0}},
          {{0, 0, 0, 1}},
          {{0, 1, 2, 3}},
          {{0, 0, 1, 1, 2}},
          {{1, 0, 1, 2, 1}},
          {{0, 0, 0, 1, 1, 1}},
          {{0, 1, 2, 0, 1, 2}},
          {{0, 0, 0, 1, 1, 2, 3}},
          {{0, 1, 2, 3, 4, 5, 6}}};
}

inline std::string name_of_grouping(const testing::TestParamInfo<Grouping>& chosen) {
  std::string name = "Hosts";
  for (const int host : chosen.param.hosts) {
    name += std::to_string(host);
  }
  return name;
}

}  // namespace gangway::comm
