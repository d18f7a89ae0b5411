// SPDX-License-Identifier: MIT
#include "gan/kernels/add_loops.hpp"

#include <algorithm>

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {

GANGWAY_CPU_VERSIONS void add_to(float* sum, const c10::BFloat16* addend, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; i += kLanes) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, elements - i));
    Lanes left;
    Lanes right;
    load(sum + i, lanes, left);
    load(addend + i, lanes, right);
    left += right;
    store(left, lanes, sum + i);
  }
}

}  // namespace gangway::gan
