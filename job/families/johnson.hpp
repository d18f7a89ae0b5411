// SPDX-License-Identifier: MIT
// Networks of fast style transfer (Johnson, Alahi and Fei-Fei, 2016, arXiv 1603.08155): the
// translator that changes pictures, and a small feature network for their comparison.
//
// As wide as published: model.width 32 and 5 model.blocks. With 3 channels it has 1,679,235
// parameters, as in PyTorch's example (InstanceNorm after Ulyanov et al., 2016; repeated pixels
// before a convolution).
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// "image" → a picture of the same size, in [-1, 1]. Maps: width channels at full size, twice as
/// many at half, four times as many at a quarter; residual blocks there; then back.
[[nodiscard]] Architecture johnson_translator(const ModelSpec& model);

/// The convolutions of gan/evaluation/lenet.hpp, with weights in share/: "image" → "level0" [N, 16,
/// H, W] and "level1" [N, 32, H / 2, W / 2], or "level0" alone.
[[nodiscard]] Architecture lenet_features(const ModelSpec& model);

/// Levels of lenet_features.
inline constexpr int kLenetLevels = 2;

/// Returns the elements of all maps of the translator.
[[nodiscard]] std::int64_t johnson_feature_elements(const ModelSpec& model);

}  // namespace gangway
