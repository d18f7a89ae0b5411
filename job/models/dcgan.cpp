// SPDX-License-Identifier: MIT
#include "job/models/dcgan.hpp"

#include "job/models/label_input.hpp"

namespace gangway {
namespace {

/// Channels after the first layer of the generator: doubled for each halving of the picture below
/// 32 pixels' three.
int widest(const ModelSpec& model) { return model.width * model.resolution / 8; }

}  // namespace

Architecture dcgan_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const std::int64_t latent = add_label_input(model, blocks);
  std::int64_t channels = widest(model);
  blocks.push_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                             .in = latent,
                             .out = channels,
                             .kernel = 4,
                             .stride = 1,
                             .padding = 0,
                             .batch_norm = true,
                             .activation = Activation::kRelu,
                             .input_shape = {latent, 1, 1},
                             .input = "noise"});
  for (; channels > model.width; channels /= 2) {
    blocks.push_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                               .in = channels,
                               .out = channels / 2,
                               .batch_norm = true,
                               .activation = Activation::kRelu});
  }
  blocks.push_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                             .in = channels,
                             .out = model.channels,
                             .activation = Activation::kTanh});
  return {"generator", std::move(blocks)};
}

Architecture dcgan_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t channels = model.width;
  blocks.push_back(LayerSpec{.kind = LayerKind::kConvolution,
                             .in = model.channels,
                             .out = channels,
                             .activation = model.activation,
                             .dropout = model.dropout,
                             .input = "image"});
  for (; channels < widest(model); channels *= 2) {
    blocks.push_back(LayerSpec{.kind = LayerKind::kConvolution,
                               .in = channels,
                               .out = channels * 2,
                               .batch_norm = model.normalizes_discriminator(),
                               .activation = model.activation,
                               .dropout = model.dropout});
  }
  if (model.classes > 0) {
    blocks.push_back(
        ProjectionHeadSpec{.classes = model.classes, .features = channels, .pixels = 16});
  } else {
    blocks.push_back(LayerSpec{
        .kind = LayerKind::kLinear, .in = channels * 16, .out = 1, .input_shape = {channels * 16}});
  }
  return {"discriminator", std::move(blocks)};
}

}  // namespace gangway
