// SPDX-License-Identifier: MIT
// Blocks of R3GAN's networks, as values. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// "features" + f("features"). f: 1x1 convolution, bias, leaky ReLU, grouped 3x3 convolution, bias,
/// leaky ReLU, 1x1 convolution. The last weight begins at zero, so that the block begins as the
/// identity (R3GAN, Huang et al., 2024, section 4; Fixup, Zhang et al., 2019).
struct ResidualSpec {
  std::int64_t channels = 1;
  std::int64_t expanded = 2;  ///< channels between the 1x1 convolutions
  std::int64_t groups = 1;    ///< of the 3x3 convolution; divides `expanded`
  double gain = 1.0;          ///< the other weights begin with deviation gain / sqrt(fan-in)
};
[[nodiscard]] BlockTensors tensors_of(const ResidualSpec& spec);

enum class Resampling { kUp, kDown };

/// Doubles or halves both sides of "features" by interpolation with [1, 3, 3, 1], which is R3GAN's
/// [1, 2, 1] between pixels. A 1x1 convolution on the smaller maps changes the channels; none if
/// `in` is `out`.
struct ResamplingSpec {
  Resampling direction = Resampling::kUp;
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
};
[[nodiscard]] BlockTensors tensors_of(const ResamplingSpec& spec);

/// Pixels a side of the maps of both bases.
inline constexpr std::int64_t kBasisSide = 4;

/// Generator: "noise" [N, in] → [N, channels, 4, 4]: a learned map per channel, scaled by a linear
/// function of the noise (R3GAN's generative basis).
struct GenerativeBasisSpec {
  std::int64_t in = 1;
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const GenerativeBasisSpec& spec);

/// Discriminator: "features" [N, channels, 4, 4] → [N, out]: each channel's product with a learned
/// map, then a linear map (R3GAN's discriminative basis).
struct DiscriminativeBasisSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockTensors tensors_of(const DiscriminativeBasisSpec& spec);

}  // namespace gangway
