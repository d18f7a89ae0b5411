// SPDX-License-Identifier: MIT
// Growth of a network in training (progressive growing, Karras et al., 2018), as a number, and the
// share of each resolution's part at that number. Pure.
//
// Part 0 has 4 pixels a side, each next part twice as many. Grown to 2, a network has parts 0, 1
// and 2. Grown to 2.25, it also fades in part 3 with a share of a quarter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gangway {

/// Pixels a side of part 0.
inline constexpr std::int64_t kFirstSide = 4;

/// All parts are there: the network does not grow, or its growth is not set yet.
inline constexpr double kFullyGrown = std::numeric_limits<double>::infinity();

/// Returns the part's share. 0: absent; below 1: fading in, as the newest part; 1: present.
[[nodiscard]] constexpr double share_of_part(int part, double growth) {
  return std::clamp(growth - (part - 1), 0.0, 1.0);
}

/// The place of a part in its network.
struct GrowingPart {
  int part = 0;
  int last = 0;  ///< last part of the network

  /// Returns the part's own share; above 0: it is there.
  [[nodiscard]] constexpr double share(double growth) const { return share_of_part(part, growth); }
  /// Returns the share of the next finer part. Below 1, this part makes and takes pictures, too.
  [[nodiscard]] constexpr double finer_share(double growth) const {
    return part < last ? share_of_part(part + 1, growth) : 0.0;
  }
  /// Pixels a side.
  [[nodiscard]] constexpr std::int64_t side() const { return kFirstSide << part; }
};

}  // namespace gangway
