// SPDX-License-Identifier: MIT
// Both networks are transformers; pictures have several depths.
//
// As published, by model.width and model.blocks: S 384 and 12, B 768 and 12, L 1024 and 24, XL 1152
// and 28. All have model.latent 64. The paper trains on a pretrained autoencoder's codes of 32x32,
// in model.patch 2.
//
// Not here, but in the paper: rotary positions beside the learned ones; a regression of a
// pretrained network's features in the discriminator; penalties by finite differences (here exact);
// styles drawn to their mean for samples.
//
// Structure and constants follow the authors' code (github.com/hse1032/GAT, models/).
#include <algorithm>

#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

constexpr int kMostDepths = 4;  // of the generator's pictures

std::int64_t patches_a_side(const ModelSpec& model) { return model.resolution / model.patch; }

int num_depths(const ModelSpec& model) { return std::min(model.blocks, kMostDepths); }

/// Returns heads of 64 channels, or of 32 if the width is below 256; for other widths the largest
/// smaller number that divides the width.
std::int64_t num_heads(std::int64_t width) {
  std::int64_t heads = std::max(std::int64_t{1}, width / (width < 256 ? 32 : 64));
  while (width % heads != 0) {
    --heads;
  }
  return heads;
}

/// A gated MLP has three matrices, so it is two thirds as wide as an MLP of two (Shazeer, 2020).
TransformerSpec transformer_of(const ModelSpec& model, std::int64_t style) {
  const std::int64_t width = model.width;
  return {.width = width, .heads = num_heads(width), .hidden = 8 * width / 3, .style = style};
}

}  // namespace

Architecture gat_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(
      TokenStyleSpec{.latent = model.latent, .classes = model.classes, .features = model.width});
  blocks.emplace_back(TokenGridSpec{.side = patches_a_side(model), .width = model.width});
  const int depths = num_depths(model);
  int depth = 0;
  for (int block = 0; block < model.blocks; ++block) {
    blocks.emplace_back(transformer_of(model, model.width));
    if ((block + 1) * depths / model.blocks > depth) {  // the end of one of `depths` equal parts
      blocks.emplace_back(PatchPictureSpec{.width = model.width,
                                           .style = model.width,
                                           .channels = model.channels,
                                           .patch = model.patch,
                                           .side = patches_a_side(model),
                                           .depth = depth,
                                           .is_last = depth + 1 == depths});
      ++depth;
    }
  }
  return {"generator", std::move(blocks)};
}

Architecture gat_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(PatchEmbeddingSpec{.channels = model.channels,
                                         .depths = num_depths(model),
                                         .patch = model.patch,
                                         .side = patches_a_side(model),
                                         .width = model.width});
  for (int block = 0; block < model.blocks; ++block) {
    blocks.emplace_back(transformer_of(model, 0));
  }
  const std::int64_t out = model.classes > 0 ? model.width : 1;
  blocks.emplace_back(TokenHeadSpec{.width = model.width, .out = out});
  if (model.classes > 0) {
    blocks.emplace_back(LabelProductSpec{.classes = model.classes, .features = out});
  }
  return {"discriminator", std::move(blocks)};
}

std::int64_t gat_feature_elements(const ModelSpec& model) {
  std::int64_t elements = std::int64_t{model.resolution} * model.resolution * model.channels;
  const std::int64_t side = model.resolution / model.patch;
  const std::int64_t tokens = 1 + side * side;
  for (const BlockSpec& block : gat_discriminator(model).blocks) {
    if (const auto* layer = std::get_if<TransformerSpec>(&block)) {
      const std::int64_t inside = 6 * layer->width + 3 * layer->hidden;
      elements += tokens * (inside + layer->heads * tokens);
    }
  }
  return elements;
}

}  // namespace gangway
