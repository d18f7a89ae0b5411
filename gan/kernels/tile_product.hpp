// SPDX-License-Identifier: MIT
// Matrix products of small tiles in float32, on CPUs with AVX2 or AVX-512. The left factors stay in
// the pictures: a tile reads them row by row. Called for convolutions. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace gangway::gan {

inline constexpr int kTileRows = 4;
/// A tile has 1 to kTileVectors vectors of kLanes columns.
inline constexpr int kTileVectors = 4;
/// With so many left factors a row, the right ones of a whole tile fit the first cache.
inline constexpr std::int64_t kTileDepth = 128;

/// sums[row] = begin[row] + the sum of left factor times right row, over the segments in turn.
struct TileProduct {
  /// Where the factors of each row begin, by segment.
  std::span<const std::array<const float*, kTileRows>> left;
  std::int64_t length;                        ///< factors of a segment
  std::int64_t step;                          ///< elements from one factor to the next
  const float* right;                         ///< [segments * length, columns], aligned at 64 bytes
  std::array<const float*, kTileRows> begin;  ///< [columns] each; may be `sums`
  std::array<float*, kTileRows> sums;         ///< [columns] each
};

/// Computes a tile. Each element is one chain of fused multiply-adds from zero, added to `begin`:
/// equal bits on all processors that have such a function.
using MultiplyTile = void (*)(const TileProduct& product);

/// Returns the function for 1 to kTileVectors vectors of columns; null where this processor has
/// none, as LibTorch sees it (numerics.processor holds it to an instruction set).
[[nodiscard]] MultiplyTile tile_function(std::int64_t vectors);

}  // namespace gangway::gan
