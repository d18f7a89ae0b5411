// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

namespace gangway {

/// Returns the median: the mean of the middle two if their number is even; 0 if there is none.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2.0;
}

}  // namespace gangway
