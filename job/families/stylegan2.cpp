// SPDX-License-Identifier: MIT
// Output skips in the generator, residual blocks in the discriminator, as the paper's configuration
// F.
//
// As wide as published: model.width 64 at 256 pixels (the authors' channel_base 16384, their
// paper256; twice that is their configuration F at 1024 pixels), 512 at 32, each with model.latent
// 512 and 8 model.mapping_layers.
//
// Not here, but in the authors' code: 16 bits above 32 pixels, a moving mean of the styles for
// truncation, and augmentation before the discriminator.
//
// Structure and constants follow the authors' code (github.com/NVlabs/stylegan2-ada-pytorch,
// training/networks.py, and paper256 of train.py).
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMostChannels = 512;

/// Returns channels, doubled at each level from the picture down.
std::int64_t channels_of(const ModelSpec& model, std::int64_t side) {
  return std::min(std::int64_t{model.width} * model.resolution / side, kMostChannels);
}

/// Number of the highest resolutions that may compute in fp16 (Karras et al., 2020b, the authors'
/// code: num_fp16_res); none below 8 pixels.
constexpr int kFp16Levels = 4;
constexpr std::int64_t kFp16LeastSide = 8;

bool stays_in_fp32(const ModelSpec& model, std::int64_t side) {
  const int levels = model.half_precision_sizes > 0 ? model.half_precision_sizes : kFp16Levels;
  return side < std::max(std::int64_t{model.resolution} >> (levels - 1), kFp16LeastSide);
}

/// Returns the number of "styles": one per layer, and one for the last picture. Each earlier
/// picture shares the style of the next layer.
std::int64_t num_styles(const ModelSpec& model) {
  std::int64_t count = 2;
  for (std::int64_t side = kBasisSide; side < model.resolution; side *= 2) {
    count += 2;
  }
  return count;
}

StyleLayerSpec layer_of(const ModelSpec& model, std::int64_t side, std::int64_t index,
                        bool doubles) {
  return {.in = channels_of(model, doubles ? side / 2 : side),
          .out = channels_of(model, side),
          .features = model.latent,
          .index = index,
          .side = side,
          .doubles = doubles,
          .stores_noise = model.stores_noise};
}

}  // namespace

Architecture stylegan2_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(StyleMappingSpec{.latent = model.latent,
                                       .classes = model.classes,
                                       .features = model.latent,
                                       .layers = model.mapping_layers,
                                       .count = num_styles(model),
                                       .mixing = model.style_mixing});
  blocks.emplace_back(StyleConstantSpec{.channels = channels_of(model, kBasisSide)});
  std::int64_t index = 0;
  std::size_t num_in_fp32 = 0;  // the first blocks
  for (std::int64_t side = kBasisSide; side <= model.resolution; side *= 2) {
    if (side > kBasisSide) {
      blocks.emplace_back(layer_of(model, side, index++, /*doubles=*/true));
    }
    blocks.emplace_back(layer_of(model, side, index++, /*doubles=*/false));
    blocks.emplace_back(StylePictureSpec{.in = channels_of(model, side),
                                         .channels = model.channels,
                                         .features = model.latent,
                                         .index = index,
                                         .is_first = side == kBasisSide,
                                         .is_last = side == model.resolution});
    num_in_fp32 = stays_in_fp32(model, side) ? blocks.size() : num_in_fp32;
  }
  return {.name = "generator",
          .blocks = std::move(blocks),
          .fp32_blocks = blocks_between(0, num_in_fp32),
          .is_fp32_beside_bf16 = model.half_precision_sizes > 0};
}

Architecture stylegan2_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t side = model.resolution;
  blocks.emplace_back(StyleImageSpec{.channels = model.channels, .out = channels_of(model, side)});
  std::size_t first_in_fp32 = blocks.size();
  for (; side > kBasisSide; side /= 2) {
    blocks.emplace_back(StyleHalvingSpec{.in = channels_of(model, side),
                                         .out = channels_of(model, side / 2),
                                         .is_residual = model.is_residual});
    first_in_fp32 = stays_in_fp32(model, side) ? first_in_fp32 : blocks.size();
  }
  const std::int64_t channels = channels_of(model, side);
  blocks.emplace_back(StyleEpilogueSpec{.channels = channels,
                                        .out = model.classes > 0 ? channels : 1,
                                        .group = model.deviation_group});
  if (model.classes > 0) {
    blocks.emplace_back(StyleLabelSpec{
        .classes = model.classes, .features = channels, .layers = model.label_layers()});
  }
  const std::size_t num_blocks = blocks.size();
  return {.name = "discriminator",
          .blocks = std::move(blocks),
          .fp32_blocks = blocks_between(first_in_fp32, num_blocks),
          .is_fp32_beside_bf16 = model.half_precision_sizes > 0};
}

std::int64_t stylegan2_feature_elements(const ModelSpec& model) {
  std::int64_t side = model.resolution;
  std::int64_t elements = side * side * (model.channels + channels_of(model, side));
  for (; side > kBasisSide; side /= 2) {
    const std::int64_t in = channels_of(model, side);
    const std::int64_t out = channels_of(model, side / 2);
    elements += side * side * 2 * in;  // behind the first convolution, and smoothed
    elements += side / 2 * (side / 2) * (in + 2 * out);  // both branches, and their sum
  }
  return elements;
}

}  // namespace gangway
