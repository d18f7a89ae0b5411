// SPDX-License-Identifier: MIT
// Structure and constants are those of the authors' code (github.com/NVlabs/stylegan2-ada-pytorch,
// training/networks.py, and paper256 of train.py).
#include "job/families/stylegan2.hpp"

#include <algorithm>
#include <utility>

namespace gangway {
namespace {

constexpr std::int64_t kMostChannels = 512;

/// Doubled at each level from the picture down.
std::int64_t channels_of(const ModelSpec& model, std::int64_t side) {
  return std::min(std::int64_t{model.width} * model.resolution / side, kMostChannels);
}

/// Places of "styles": one for each layer, and the last picture's; a picture before it takes that
/// of the layer behind it.
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
          .doubles = doubles};
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
  }
  return {"generator", std::move(blocks)};
}

Architecture stylegan2_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t side = model.resolution;
  blocks.emplace_back(StyleImageSpec{.channels = model.channels, .out = channels_of(model, side)});
  for (; side > kBasisSide; side /= 2) {
    blocks.emplace_back(
        StyleHalvingSpec{.in = channels_of(model, side), .out = channels_of(model, side / 2)});
  }
  const std::int64_t channels = channels_of(model, side);
  blocks.emplace_back(
      StyleEpilogueSpec{.channels = channels, .out = model.classes > 0 ? channels : 1});
  if (model.classes > 0) {
    blocks.emplace_back(StyleLabelSpec{
        .classes = model.classes, .features = channels, .layers = model.mapping_layers});
  }
  return {"discriminator", std::move(blocks)};
}

std::int64_t stylegan2_feature_elements(const ModelSpec& model) {
  std::int64_t side = model.resolution;
  std::int64_t elements = side * side * (model.channels + channels_of(model, side));
  for (; side > kBasisSide; side /= 2) {
    const std::int64_t in = channels_of(model, side);
    const std::int64_t out = channels_of(model, side / 2);
    elements += side * side * 2 * in;  // behind the first convolution, and smoothed
    elements += side / 2 * (side / 2) * (in + 2 * out);  // both ways, and their sum
  }
  return elements;
}

}  // namespace gangway
