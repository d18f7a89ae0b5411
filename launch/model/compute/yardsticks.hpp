// SPDX-License-Identifier: MIT
// Work that a core does about as fast as it can: the yardsticks of `gangway bench compute`. They
// run in turns with the measured work, so both have the same clock rate and load. Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gan/torch.hpp"

namespace gangway::launch {

struct Yardstick {
  double amount = 0.0;  ///< of one run: operations of a product, or bytes read and written
  std::function<void()> run;
};

/// Calls the bodies in turns, for at least `seconds` each and at least three times, after a
/// warm-up. Returns the seconds of the fastest call of each.
[[nodiscard]] std::vector<double> least_seconds(double seconds,
                                                const std::vector<std::function<void()>>& bodies);

/// Returns LibTorch's product of square matrices of this type, in the fastest of three sizes.
/// @param seconds  for each size
[[nodiscard]] Yardstick plain_product(at::ScalarType type, double seconds);

/// Returns a copy of `bytes`; reads and writes both count.
[[nodiscard]] Yardstick plain_copy(std::int64_t bytes);

}  // namespace gangway::launch
