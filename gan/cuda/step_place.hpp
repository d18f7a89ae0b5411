// SPDX-License-Identifier: MIT
// The part of random keys that changes from step to step, in device memory: a captured graph of
// draws replays with the keys of another step. Included by .cpp and .cu files.
#pragma once

#include "gan/random.hpp"

namespace gangway::cuda {

struct StepPlace {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

/// `key`, with the seed and the step that lie at `place`; as it is where that is null.
[[nodiscard]] GANGWAY_HOST_DEVICE inline RandomKey placed(RandomKey key, const StepPlace* place) {
  if (place != nullptr) {
    key.seed = place->seed;
    key.step = place->step;
  }
  return key;
}

}  // namespace gangway::cuda
