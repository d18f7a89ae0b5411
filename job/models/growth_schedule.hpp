// Growth of a network as a function of the images shown alone. So all workers agree, and a run
// resumed across a growth step has the same bits, without a state of its own. Pure.
#pragma once

#include <cstdint>

namespace gangway {

/// Trains the finest resolution for `kimg`, fades in the next one, of twice as many pixels a side,
/// over `fade_kimg`, and repeats (Karras et al., 2018, appendix A: both 800). The defaults reach 32
/// pixels after 30 of 40 kimg.
struct GrowthSpec {
  int from = 4;            ///< pixels a side at the start of training
  double kimg = 5.0;       ///< thousand images
  double fade_kimg = 5.0;  ///< 0: the next resolution appears at once
  bool operator==(const GrowthSpec&) const = default;
};

/// Returns how far networks for `resolution` have grown after `images` images
/// (job/blocks/progressive/growth.hpp). If both stretches are 0, all parts are there from the
/// start. @pre `from` and `resolution` are 4 times powers of two
[[nodiscard]] double growth_level(const GrowthSpec& growth, int resolution, std::int64_t images);

/// Returns the images after which all parts are there.
[[nodiscard]] std::int64_t fully_grown_images(const GrowthSpec& growth, int resolution);

}  // namespace gangway
