// SPDX-License-Identifier: MIT
// Counts the modes of a toy mixture that a generator found. No LibTorch. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "data/toy.hpp"

namespace gangway::gan {

struct ToyModes {
  int modes = 0;    ///< of the mixture
  int covered = 0;  ///< modes that got at least 1 % of their share of the samples (samples /
                    ///< modes), as good samples
  double good_share = 0.0;  ///< samples within 3 sigma of the nearest centre; of the mixture itself
                            ///< 1 - exp(-9/2) = 98.9 %
};

/// Counts samples within 3 standard deviations as VEEGAN does (Srivastava et al., 2017, section
/// 4.1). VEEGAN counts a mode as covered from its first sample; here one stray sample is not
/// enough.
/// @param points [count, 2] row-major
[[nodiscard]] ToyModes count_toy_modes(const data::ToyMixture& mixture,
                                       std::span<const float> points);

}  // namespace gangway::gan
