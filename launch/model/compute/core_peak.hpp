// SPDX-License-Identifier: MIT
// Measures the peak rates of one core, the yardsticks of `gangway bench compute`. Main thread.
#pragma once

#include <cstdint>
#include <functional>

namespace gangway::launch {

/// Calls `body` for at least `seconds` and at least three times, after a warm-up. Returns the
/// seconds of the fastest call.
[[nodiscard]] double least_seconds(double seconds, const std::function<void()>& body);

/// Returns float32 operations per second of fused multiply-adds on registers; each counts as two.
[[nodiscard]] double core_flops(double seconds);

/// Returns the best rate of LibTorch's bf16 matrix product, over sizes that fit caches.
[[nodiscard]] double bf16_flops(double seconds);

/// Returns bytes per second of a copy of `bytes`; reads and writes both count.
[[nodiscard]] double copy_rate(std::int64_t bytes, double seconds);

}  // namespace gangway::launch
