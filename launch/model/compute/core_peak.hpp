// SPDX-License-Identifier: MIT
// What one core does at most: the yardsticks of `gangway bench compute`. Main thread.
#pragma once

#include <cstdint>
#include <functional>

namespace gangway::launch {

/// Calls `body` for at least `seconds` and at least three times; the least seconds of a call, what
/// comes first not counted.
[[nodiscard]] double least_seconds(double seconds, const std::function<void()>& body);

/// Float32 operations a second of a loop of fused multiply-adds on registers alone, two an element.
[[nodiscard]] double core_flops(double seconds);

/// The same of LibTorch's best product of bf16 matrices, of some sizes that fit caches.
[[nodiscard]] double bf16_flops(double seconds);

/// Bytes a second that a copy of `bytes` reads and writes, both counted.
[[nodiscard]] double copy_rate(std::int64_t bytes, double seconds);

}  // namespace gangway::launch
