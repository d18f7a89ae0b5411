// SPDX-License-Identifier: MIT
// The constant noise of StyleGAN2's layers. Used by the block and by the ONNX export. No LibTorch;
// any thread.
#pragma once

#include <cstdint>

#include "gan/random.hpp"

namespace gangway {

/// Returns the key of the noise that a layer adds in evaluation, one normal number a pixel.
/// @param block  number of the layer's block in its network
[[nodiscard]] inline RandomKey constant_noise_key(std::int32_t block) {
  return {.phase = kPhaseEvaluation,
          .block = block,
          .draw = static_cast<std::int32_t>(RandomDraw::kLayerNoise)};
}

}  // namespace gangway
