// SPDX-License-Identifier: MIT
// The networks of fast style transfer (Johnson, Alahi and Fei-Fei, 2016, arXiv 1603.08155): one
// that changes pictures, and the small one here whose features are compared.
//
// As wide as published: model.width 32 and 5 model.blocks, with 3 channels 1,679,235 parameters, as
// PyTorch's example of it has (InstanceNorm after Ulyanov et al., 2016; maps grow by repeated
// pixels and a convolution).
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// "image" → a picture of the same size, in [-1, 1]: width channels at its size, twice and four
/// times as many at a half and a quarter of it, residual blocks there, and back.
[[nodiscard]] Architecture johnson_translator(const ModelSpec& model);

/// The convolutions of gan/evaluation/lenet.hpp, whose weights share/ has: "image" → "level0"
/// [N, 16, H, W] and "level1" [N, 32, H / 2, W / 2], or the first alone.
[[nodiscard]] Architecture lenet_features(const ModelSpec& model);

/// Levels that lenet_features has.
inline constexpr int kLenetLevels = 2;

/// Elements of all maps of the network that changes pictures.
[[nodiscard]] std::int64_t johnson_feature_elements(const ModelSpec& model);

}  // namespace gangway
