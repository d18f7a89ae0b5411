// SPDX-License-Identifier: MIT
#include "job/families/family_networks.hpp"
#include "job/families/label_input.hpp"

namespace gangway {
namespace {

/// Returns the channels after the generator's first layer: 4 times model.width at 32 pixels, 8
/// times at 64.
int widest(const ModelSpec& model) { return model.width * model.resolution / 8; }

/// Returns the layers from the image to 4x4 features.
std::vector<BlockSpec> convolutions(const ModelSpec& model, double dropout) {
  std::vector<BlockSpec> blocks;
  std::int64_t channels = model.width;
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kConvolution,
                                .in = model.channels,
                                .out = channels,
                                .activation = model.activation,
                                .dropout = dropout,
                                .input = "image"});
  for (; channels < widest(model); channels *= 2) {
    blocks.emplace_back(LayerSpec{.kind = LayerKind::kConvolution,
                                  .in = channels,
                                  .out = channels * 2,
                                  .batch_norm = model.normalizes_discriminator(),
                                  .activation = model.activation,
                                  .dropout = dropout});
  }
  return blocks;
}

LayerSpec last_layer(std::int64_t channels, std::int64_t out) {
  return {
      .kind = LayerKind::kLinear, .in = channels * 16, .out = out, .input_shape = {channels * 16}};
}

}  // namespace

Architecture dcgan_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const std::int64_t latent = add_label_input(model, blocks);
  std::int64_t channels = widest(model);
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
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
    blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                  .in = channels,
                                  .out = channels / 2,
                                  .batch_norm = true,
                                  .activation = Activation::kRelu});
  }
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                .in = channels,
                                .out = model.channels,
                                .activation = Activation::kTanh});
  return {"generator", std::move(blocks)};
}

Architecture dcgan_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks = convolutions(model, model.dropout);
  const std::int64_t channels = widest(model);
  if (model.classes > 0) {
    blocks.emplace_back(
        ProjectionHeadSpec{.classes = model.classes, .features = channels, .pixels = 16});
  } else {
    blocks.emplace_back(last_layer(channels, 1));
  }
  return {"discriminator", std::move(blocks)};
}

Architecture dcgan_encoder(const ModelSpec& model) {
  std::vector<BlockSpec> blocks = convolutions(model, 0.0);
  blocks.emplace_back(last_layer(widest(model), 2 * std::int64_t{model.latent}));
  return {"encoder", std::move(blocks)};
}

}  // namespace gangway
