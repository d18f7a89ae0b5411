// SPDX-License-Identifier: MIT
// LibTorch's random generators belong to the process, and nothing in it draws from them but a
// user's network that is being called: whoever calls one holds this from the seed to the last draw.
// Before the lock of Python's interpreter, never after it. Any thread; only tests have several that
// do.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "base/guarded.hpp"

namespace gangway::gan {

class SeededGenerator {
 public:
  /// Waits for the others, then seeds the generator of `device`.
  SeededGenerator(at::Device device, std::uint64_t seed);
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;
  ~SeededGenerator() = default;

 private:
  MutexLock lock_;
};

}  // namespace gangway::gan
