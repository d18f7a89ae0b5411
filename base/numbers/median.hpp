// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

namespace gangway {

/// Of an even number of values, the mean of the two in the middle; 0 of none.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2.0;
}

}  // namespace gangway
