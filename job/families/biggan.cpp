// SPDX-License-Identifier: MIT
// Residual blocks under spectral norm in both networks. With labels, a shared embedding and a piece
// of the noise per block make the gains of the generator's BatchNorm. Without labels it is SNGAN's
// residual pair (Miyato et al., 2018): only the first layer takes the noise.
//
// As published: 128 pixels, model.width 96, model.latent 120, model.attention 64 and 1000 labels.
// At 32 pixels all maps have 4 times model.width channels.
//
// Structure and constants follow the authors' PyTorch code (github.com/ajbrock/BigGAN-PyTorch,
// BigGAN.py and layers.py).
#include <cstddef>
#include <utility>
#include <vector>

#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kSharedFeatures = 128;  // of the labels' embedding in the generator

/// Returns channels over model.width: of the generator's stem, then behind each of its blocks.
std::vector<std::int64_t> factors_up(int resolution) {
  switch (resolution) {
    case 32:
      return {4, 4, 4, 4};
    case 64:
      return {16, 16, 8, 4, 2};
    case 128:
      return {16, 16, 8, 4, 2, 1};
    default:
      return {16, 16, 8, 8, 4, 2, 1};
  }
}

/// Same for the discriminator, whose last blocks do not halve.
std::vector<std::int64_t> factors_down(int resolution) {
  switch (resolution) {
    case 32:
      return {4, 4, 4, 4};
    case 64:
      return {1, 2, 4, 8, 16};
    case 128:
      return {1, 2, 4, 8, 16, 16};
    default:
      return {1, 2, 4, 8, 8, 16, 16};
  }
}

/// Returns the side, in pixels, of the discriminator's last maps.
std::int64_t last_side(int resolution) { return resolution == 32 ? 8 : kStemSide; }

}  // namespace

Architecture biggan_generator(const ModelSpec& model) {
  const std::vector<std::int64_t> factors = factors_up(model.resolution);
  const bool is_labelled = model.classes > 0;
  const bool is_styled = is_labelled && model.conditioning != Conditioning::kSeparate;
  // One piece per place that takes one; the remainder goes to the first place.
  const std::int64_t piece = is_labelled && model.conditioning == Conditioning::kHierarchical
                                 ? model.latent / static_cast<std::int64_t>(factors.size())
                                 : 0;
  std::int64_t begin = model.latent - piece * static_cast<std::int64_t>(factors.size() - 1);
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(SpectralStemSpec{.taken = begin, .channels = factors[0] * model.width});
  if (is_styled) {
    blocks.emplace_back(SharedEmbeddingSpec{.classes = model.classes, .features = kSharedFeatures});
  }
  std::int64_t side = kStemSide;
  for (std::size_t block = 1; block < factors.size(); ++block) {
    blocks.emplace_back(SpectralUpSpec{.in = factors[block - 1] * model.width,
                                       .out = factors[block] * model.width,
                                       .style = is_styled ? kSharedFeatures : 0,
                                       .classes = is_styled ? 0 : model.classes,
                                       .first = begin,
                                       .taken = piece});
    begin += piece;
    side *= 2;
    if (side == model.attention) {
      blocks.emplace_back(SpectralAttentionSpec{.channels = factors[block] * model.width});
    }
  }
  blocks.emplace_back(
      SpectralPictureSpec{.in = factors.back() * model.width, .channels = model.channels});
  return {"generator", std::move(blocks)};
}

Architecture biggan_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t side = model.resolution;
  std::int64_t channels = model.channels;
  for (const std::int64_t factor : factors_down(model.resolution)) {
    const SpectralDownSpec down{.in = channels,
                                .out = factor * model.width,
                                .halves = side > last_side(model.resolution),
                                .is_first = blocks.empty()};
    blocks.emplace_back(down);
    channels = down.out;
    side /= down.halves ? 2 : 1;
    if (model.attends_everywhere || (down.halves && side == model.attention)) {
      blocks.emplace_back(SpectralAttentionSpec{.channels = channels});
    }
  }
  blocks.emplace_back(SpectralHeadSpec{.classes = model.classes, .features = channels});
  return {"discriminator", std::move(blocks)};
}

std::int64_t biggan_feature_elements(const ModelSpec& model) {
  std::int64_t side = model.resolution;
  std::int64_t elements = 0;
  for (const BlockSpec& block : biggan_discriminator(model).blocks) {
    if (const auto* down = std::get_if<SpectralDownSpec>(&block)) {
      elements += side * side * (down->in + 2 * down->out);
      side /= down->halves ? 2 : 1;
    } else if (std::holds_alternative<SpectralAttentionSpec>(block)) {
      elements += side * side * side * side / 4;  // keys: a quarter of the pixels
    }
  }
  return elements;
}

}  // namespace gangway
