// SPDX-License-Identifier: MIT
// Matrix products of small tiles in float32, on CPUs with AVX2 or AVX-512. The left factors stay in
// the pictures: a tile reads them row by row. Called for convolutions. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {

/// A tile has 1 to kTileVectors vectors of kLanes columns.
inline constexpr int kTileVectors = 4;
inline constexpr std::int64_t kTileColumns = std::int64_t{kTileVectors} * kLanes;
/// With so many left factors a row, the right ones of a whole tile fit the first cache.
inline constexpr std::int64_t kTileDepth = 128;

/// sums[row] = begin[row] + the sum of left factor times right row, over the segments in turn.
template <int kRows>
struct TileProduct {
  /// Where the factors of each row begin, by segment.
  std::span<const std::array<const float*, kRows>> left;
  std::int64_t length;                    ///< factors of a segment
  std::int64_t step;                      ///< elements from one factor to the next
  const float* right;                     ///< [segments * length, columns], aligned at 64 bytes
  std::array<const float*, kRows> begin;  ///< [columns] each; may be `sums`
  std::array<float*, kRows> sums;         ///< [columns] each
};

/// Computes a tile. Each element is one chain of fused multiply-adds from zero, added to `begin`:
/// equal bits on all processors that have such a function.
template <int kRows>
using MultiplyTile = void (*)(const TileProduct<kRows>& product);

/// Returns the function for 1 to kTileVectors vectors of columns; null where this processor has
/// none, as LibTorch sees it (numerics.processor holds it to an instruction set).
/// @tparam kRows  4; or 6, which read the right factors less often
template <int kRows>
[[nodiscard]] MultiplyTile<kRows> tile_function(std::int64_t vectors);

}  // namespace gangway::gan
