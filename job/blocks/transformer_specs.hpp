// SPDX-License-Identifier: MIT
// Blocks of GAT's networks, as values. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// Generator: "noise" [N, latent] (and "labels") → "style" [N, features]; two dense layers of the
/// noise and the label's embedding, each normalized to mean square one (GAT, Hyun et al., 2025,
/// section 3; StyleGAN2, Karras et al., 2020).
struct TokenStyleSpec {
  std::int64_t latent = 1;
  std::int64_t classes = 0;
  std::int64_t features = 1;
};
[[nodiscard]] BlockTensors tensors_of(const TokenStyleSpec& spec);

/// Factor on the mapping's weights at each use, so that an optimiser moves them more slowly
/// (StyleGAN's learning rate of the mapping network, Karras et al., 2019, appendix C).
inline constexpr double kStyleRate = 0.01;

/// Generator: "features" [N, side * side, width]: learned positions, the same for every style.
struct TokenGridSpec {
  std::int64_t side = 1;  ///< patches of a picture's side
  std::int64_t width = 1;
};
[[nodiscard]] BlockTensors tensors_of(const TokenGridSpec& spec);

/// A layer of a transformer on "features" [N, tokens, width]: attention, then a gated MLP, each
/// with RMSNorm before it and a gain behind it. Gains come from "style", which the layer passes on;
/// without a style they are weights (GAT, section 3).
struct TransformerSpec {
  std::int64_t width = 1;
  std::int64_t heads = 1;   ///< divide `width`
  std::int64_t hidden = 1;  ///< of the MLP
  std::int64_t style = 0;   ///< features of "style"; 0: takes none
};
[[nodiscard]] BlockTensors tensors_of(const TransformerSpec& spec);

/// Generator: makes a picture of "features" [N, side * side, width], patch by patch, under "style".
/// Adds it to the last of "pictures" [N, depth * channels, H, W] and appends the sum. The last
/// block leaves in "features" all pictures in training, for a discriminator of as many depths. In
/// evaluation it leaves only the last picture (GAT, section 4).
struct PatchPictureSpec {
  std::int64_t width = 1;
  std::int64_t style = 1;
  std::int64_t channels = 1;  ///< of one picture
  std::int64_t patch = 1;     ///< pixels, square
  std::int64_t side = 1;      ///< patches
  int depth = 0;              ///< pictures from earlier blocks
  bool is_last = false;
};
[[nodiscard]] BlockTensors tensors_of(const PatchPictureSpec& spec);

/// Discriminator: "image" [N, channels or depths * channels, H, W] → "features" [N, 1 + side *
/// side, width]: a learned token, then a token per patch, with learned positions. A single picture
/// is used for all depths. In training, each depth gets keyed noise, most for the earliest depth
/// (GAT, section 4).
struct PatchEmbeddingSpec {
  std::int64_t channels = 1;  ///< of one picture
  int depths = 1;             ///< at most 4
  std::int64_t patch = 1;     ///< pixels, square
  std::int64_t side = 1;      ///< patches
  std::int64_t width = 1;
};
[[nodiscard]] BlockTensors tensors_of(const PatchEmbeddingSpec& spec);

/// Discriminator: a linear map of the first token of "features" [N, tokens, width], normalized.
struct TokenHeadSpec {
  std::int64_t width = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockTensors tensors_of(const TokenHeadSpec& spec);

}  // namespace gangway
