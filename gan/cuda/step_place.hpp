// SPDX-License-Identifier: MIT
// The part of random keys that changes each step, in device memory: a captured graph replays its
// draws with the keys of another step. Included by .cpp and .cu files.
#pragma once

#include "gan/random.hpp"

namespace gangway::cuda {

struct StepPlace {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

/// Returns `key` with the seed and step at `place`; unchanged if `place` is null.
[[nodiscard]] GANGWAY_HOST_DEVICE inline RandomKey placed(RandomKey key, const StepPlace* place) {
  if (place != nullptr) {
    key.seed = place->seed;
    key.step = place->step;
  }
  return key;
}

}  // namespace gangway::cuda
