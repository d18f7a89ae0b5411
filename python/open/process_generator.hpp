// SPDX-License-Identifier: MIT
// Locks LibTorch's random generators, which belong to the process. Only a user's network draws from
// them; its caller holds the lock from the seed to the last draw. Take it before the lock of
// Python's interpreter, never after it. Any thread; only tests have several.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "base/guarded.hpp"
#include "gan/random.hpp"

namespace gangway::python {

/// Returns the seed of all draws of a call. LibTorch's CPU generator uses 32 bits of it, so two
/// micro-batches in billions draw alike.
[[nodiscard]] std::uint64_t seed_of_call(RandomKey key);

class SeededGenerator {
 public:
  /// Waits for the lock, then seeds the generator of `device`.
  SeededGenerator(at::Device device, std::uint64_t seed);
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;
  ~SeededGenerator() = default;

 private:
  MutexLock lock_;
};

}  // namespace gangway::python
