// SPDX-License-Identifier: MIT
// Counts which of the 1,000 kinds of stacked pictures a generator makes (Metz et al., "Unrolled
// Generative Adversarial Networks", 2017, section 3.3.1, with digits). Each of three channels shows
// one of ten garments, classified by FD-LeNet. Used by `gangway-model evaluate`. One thread at a
// time.
#pragma once

#include <array>
#include <cstdint>

#include "gan/evaluation/fd_lenet.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kStackedModes = LeNet::kClasses * LeNet::kClasses * LeNet::kClasses;

/// Number of pictures by mode: 100 * first channel's class + 10 * second's + third's.
using ModeCounts = std::array<std::int64_t, kStackedModes>;

/// Classifies the first `count` pictures, [count, 3, S, S] in [-1, 1].
[[nodiscard]] ModeCounts count_stacked_modes(LeNet& lenet, const ImageSource& images,
                                             std::int64_t count);

struct StackedModes {
  int covered = 0;            ///< modes with at least one picture
  double from_uniform = 0.0;  ///< KL(generated || all modes alike), in nats; at most log 1,000
  double from_real = 0.0;     ///< KL(generated || the classifier's shares of real pictures), nats
};

/// Computes real modes' shares as products of the classes' shares because channels are drawn
/// independently. Counting real triples would leave rare modes empty.
/// @param class_shares  of single real pictures, each above 0
/// @pre some picture was counted
[[nodiscard]] StackedModes stacked_modes(const ModeCounts& counts,
                                         const std::array<double, LeNet::kClasses>& class_shares);

}  // namespace gangway::gan
