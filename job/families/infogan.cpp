// SPDX-License-Identifier: MIT
// The networks have 13 million parameters, most of them dense, so communication dominates.
#include "job/families/family_networks.hpp"
#include "job/families/label_input.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kHidden = 1024;
constexpr std::int64_t kSide = 7;  // pixels of the smallest picture
constexpr std::int64_t kChannels = 128;

}  // namespace

Architecture infogan_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const std::int64_t latent = add_label_input(model, blocks);
  blocks.emplace_back(LayerSpec{.in = latent,
                                .out = kHidden,
                                .batch_norm = true,
                                .activation = Activation::kRelu,
                                .input = "noise"});
  blocks.emplace_back(LayerSpec{.in = kHidden,
                                .out = kChannels * kSide * kSide,
                                .batch_norm = true,
                                .activation = Activation::kRelu});
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                .in = kChannels,
                                .out = model.width,
                                .batch_norm = true,
                                .activation = Activation::kRelu,
                                .input_shape = {kChannels, kSide, kSide}});
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                .in = model.width,
                                .out = model.channels,
                                .bias = true,
                                .activation = Activation::kTanh});
  return {"generator", std::move(blocks)};
}

Architecture infogan_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kConvolution,
                                .in = model.channels,
                                .out = model.width,
                                .bias = true,
                                .activation = model.activation,
                                .dropout = model.dropout,
                                .input = "image"});
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kConvolution,
                                .in = model.width,
                                .out = kChannels,
                                .batch_norm = model.normalizes_discriminator(),
                                .activation = model.activation,
                                .dropout = model.dropout});
  blocks.emplace_back(LayerSpec{.in = kChannels * kSide * kSide,
                                .out = kHidden,
                                .batch_norm = model.normalizes_discriminator(),
                                .activation = model.activation,
                                .dropout = model.dropout,
                                .input_shape = {kChannels * kSide * kSide}});
  if (model.classes > 0) {
    blocks.emplace_back(
        ProjectionHeadSpec{.classes = model.classes, .features = kHidden, .pixels = 1});
  } else {
    blocks.emplace_back(LayerSpec{.in = kHidden, .out = 1, .bias = true});
  }
  return {"discriminator", std::move(blocks)};
}

}  // namespace gangway
