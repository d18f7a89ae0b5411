// SPDX-License-Identifier: MIT
// How far a network has grown that grows in training (progressive growing, Karras et al., 2018): a
// number, and what it asks of the part of the network for one resolution. Pure.
//
// Part 0 is that of 4 pixels a side, each next one that of twice as many. Grown to 2, a network
// consists of parts 0, 1 and 2, and to 2.25 part 3 fades in beside them with a share of a quarter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gangway {

/// Pixels a side of part 0.
inline constexpr std::int64_t kFirstSide = 4;

/// All parts are there: of a network that does not grow, or before its growth is set.
inline constexpr double kFullyGrown = std::numeric_limits<double>::infinity();

/// 0: the part is not there; below 1: it fades in, as the newest; 1: it is there.
[[nodiscard]] constexpr double share_of_part(int part, double growth) {
  return std::clamp(growth - (part - 1), 0.0, 1.0);
}

/// The place of a part in its network.
struct GrowingPart {
  int part = 0;
  int last = 0;  ///< of the network

  /// Its own share; above 0: it is there.
  [[nodiscard]] constexpr double share(double growth) const { return share_of_part(part, growth); }
  /// The share of the next finer part. Below 1, pictures are made and taken by this one too.
  [[nodiscard]] constexpr double finer_share(double growth) const {
    return part < last ? share_of_part(part + 1, growth) : 0.0;
  }
  /// Pixels a side.
  [[nodiscard]] constexpr std::int64_t side() const { return kFirstSide << part; }
};

}  // namespace gangway
