// SPDX-License-Identifier: MIT
// When a network grows: a function of the images shown alone, so that all workers agree, and a run
// that goes on across a growth step has the same bits, without a state of its own. Pure.
#pragma once

#include <cstdint>

namespace gangway {

/// The finest resolution in training is kept for `kimg`, then the next one, of twice as many
/// pixels a side, fades in over `fade_kimg`, is kept for `kimg`, and so on (Karras et al., 2018,
/// appendix A, where both are 800). The usual ones bring 32 pixels there in 30 of 40 kimg.
struct GrowthSpec {
  int from = 4;            ///< pixels a side that training begins with
  double kimg = 5.0;       ///< thousand images
  double fade_kimg = 5.0;  ///< 0: the next one is there at once
  bool operator==(const GrowthSpec&) const = default;
};

/// How far networks for `resolution` have grown behind so many images
/// (job/blocks/progressive/growth.hpp); where both stretches are 0 all is there from the start.
/// @pre `from` and `resolution` are 4 times powers of two
[[nodiscard]] double growth_level(const GrowthSpec& growth, int resolution, std::int64_t images);

/// Images behind which all is there.
[[nodiscard]] std::int64_t fully_grown_images(const GrowthSpec& growth, int resolution);

}  // namespace gangway
