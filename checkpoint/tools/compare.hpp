// SPDX-License-Identifier: MIT
// How two checkpoints differ, tensor by tensor, whatever their layouts: `gangway checkpoints diff`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gangway::checkpoint {

struct TensorDifference {
  std::string name;
  /// Not empty: they cannot be compared (only in one of the two, other type, other shape).
  std::string reason;
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;  ///< elements whose bits differ
  double largest = 0.0;         ///< absolute difference of two values; NaN where one is NaN
};

/// Of tensors with other names, types, shapes or bits, by name. Reads both, each byte verified; one
/// tensor of each is in memory at a time.
/// @throws CheckpointError naming the file and the tensor of what is damaged.
[[nodiscard]] std::vector<TensorDifference> compare_checkpoints(const std::filesystem::path& a,
                                                                const std::filesystem::path& b);

/// A line a difference, the largest first, and how many; or that there is none. Ends in a line
/// feed.
[[nodiscard]] std::string differences_text(const std::vector<TensorDifference>& differences);

}  // namespace gangway::checkpoint
