// SPDX-License-Identifier: MIT
// Compares two checkpoints of any layouts, by tensor. Called by `gangway checkpoints diff`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gangway::checkpoint {

struct TensorDifference {
  std::string name;
  /// Why they cannot be compared (in only one of the two, other type, other shape); else empty.
  std::string reason;
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;  ///< elements whose bits differ
  double largest = 0.0;         ///< absolute difference of two values; NaN if one is NaN
};

/// Returns the tensors that differ in presence, type, shape or bits, by name. Verifies every byte
/// of both; holds one tensor of each in memory.
/// @throws CheckpointError naming the damaged file and tensor.
[[nodiscard]] std::vector<TensorDifference> compare_checkpoints(const std::filesystem::path& a,
                                                                const std::filesystem::path& b);

/// Returns a line per difference, largest first, and their number; or that there is none. Ends in a
/// line feed.
[[nodiscard]] std::string differences_text(const std::vector<TensorDifference>& differences);

}  // namespace gangway::checkpoint
