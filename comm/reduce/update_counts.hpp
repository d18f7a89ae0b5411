// SPDX-License-Identifier: MIT
// Counts a network's updates and derives its loss scale. Equal on all workers because it follows
// from what they agree on. Part of the checkpoint. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gangway::comm {

struct UpdateCounts {
  std::int64_t updates = 0;         ///< made; counted by the optimiser and the average
  std::int64_t skipped = 0;         ///< skipped because a gradient was not finite
  std::int64_t scale_exponent = 0;  ///< losses are multiplied by 2^this before backward
  std::int64_t unbroken = 0;        ///< updates since the last scale change or skip
  std::int64_t in_a_row = 0;        ///< consecutive skips up to now
  bool operator==(const UpdateCounts&) const = default;
};

/// Dynamic loss scaling (Micikevicius et al., 2018, section 3.2) with the constants of PyTorch's
/// GradScaler.
struct LossScaling {
  static constexpr std::int64_t kFirstExponent = 16;
  static constexpr std::int64_t kLeastExponent = -8;
  static constexpr std::int64_t kMostExponent = 40;
  static constexpr std::int64_t kUpdatesToGrow = 2000;
};

/// Returns `counts` after an update. @param is_scaled  whether the network has a loss scale
/// @param used  exponent of the scale that the losses had: the network's own, or a smaller one of
///   another network of the phase
[[nodiscard]] inline UpdateCounts updated(UpdateCounts counts, bool is_scaled, std::int64_t used) {
  ++counts.updates;
  counts.in_a_row = 0;
  // Only the network's own scale, when used, counts towards growth.
  if (is_scaled && used == counts.scale_exponent &&
      ++counts.unbroken == LossScaling::kUpdatesToGrow) {
    counts.scale_exponent = std::min(counts.scale_exponent + 1, LossScaling::kMostExponent);
    counts.unbroken = 0;
  }
  return counts;
}

/// Returns `counts` after a skipped update.
[[nodiscard]] inline UpdateCounts skipped(UpdateCounts counts, bool is_scaled, std::int64_t used) {
  ++counts.skipped;
  ++counts.in_a_row;
  if (is_scaled) {
    counts.scale_exponent = std::max(used - 1, LossScaling::kLeastExponent);
    counts.unbroken = 0;
  }
  return counts;
}

}  // namespace gangway::comm
