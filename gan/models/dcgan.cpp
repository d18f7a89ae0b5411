// SPDX-License-Identifier: MIT
#include "gan/models/dcgan.hpp"

#include "gan/label_blocks.hpp"

namespace gangway::gan {
namespace {

/// Channels after the first layer of the generator: doubled for each halving of the picture below
/// 32 pixels' three.
int widest(const ModelSpec& model) { return model.width * model.resolution / 8; }

}  // namespace

Network dcgan_generator(const ModelSpec& model) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::int64_t latent = model.latent;
  if (model.classes > 0) {
    blocks.push_back(std::make_unique<LabelConcatenation>(model.classes));
    latent += model.classes;
  }
  std::int64_t channels = widest(model);
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                                          .in = latent,
                                                          .out = channels,
                                                          .kernel = 4,
                                                          .stride = 1,
                                                          .padding = 0,
                                                          .batch_norm = true,
                                                          .activation = ActivationKind::kRelu,
                                                          .input_shape = {latent, 1, 1},
                                                          .input = "noise"}));
  for (; channels > model.width; channels /= 2) {
    blocks.push_back(
        std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                               .in = channels,
                                               .out = channels / 2,
                                               .batch_norm = true,
                                               .activation = ActivationKind::kRelu}));
  }
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                                          .in = channels,
                                                          .out = model.channels,
                                                          .activation = ActivationKind::kTanh}));
  return {"generator", std::move(blocks)};
}

Network dcgan_discriminator(const ModelSpec& model, const DiscriminatorStyle& style) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::int64_t channels = model.width;
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kConvolution,
                                                          .in = model.channels,
                                                          .out = channels,
                                                          .activation = style.activation,
                                                          .dropout = style.dropout,
                                                          .input = "image"}));
  for (; channels < widest(model); channels *= 2) {
    blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kConvolution,
                                                            .in = channels,
                                                            .out = channels * 2,
                                                            .batch_norm = style.batch_norm,
                                                            .activation = style.activation,
                                                            .dropout = style.dropout}));
  }
  if (model.classes > 0) {
    blocks.push_back(std::make_unique<ProjectionHead>(model.classes, channels, 16));
  } else {
    blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kLinear,
                                                            .in = channels * 16,
                                                            .out = 1,
                                                            .input_shape = {channels * 16}}));
  }
  return {"discriminator", std::move(blocks)};
}

}  // namespace gangway::gan
