// SPDX-License-Identifier: MIT
#include "gan/models/infogan.hpp"

#include "gan/label_blocks.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kHidden = 1024;
constexpr std::int64_t kSide = 7;  // pixels of the smallest picture
constexpr std::int64_t kChannels = 128;

}  // namespace

Network infogan_generator(const ModelSpec& model) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::int64_t latent = model.latent;
  if (model.classes > 0) {
    blocks.push_back(std::make_unique<LabelConcatenation>(model.classes));
    latent += model.classes;
  }
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = latent,
                                                          .out = kHidden,
                                                          .batch_norm = true,
                                                          .activation = ActivationKind::kRelu,
                                                          .input = "noise"}));
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = kHidden,
                                                          .out = kChannels * kSide * kSide,
                                                          .batch_norm = true,
                                                          .activation = ActivationKind::kRelu}));
  blocks.push_back(
      std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                             .in = kChannels,
                                             .out = model.width,
                                             .batch_norm = true,
                                             .activation = ActivationKind::kRelu,
                                             .input_shape = {kChannels, kSide, kSide}}));
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                                          .in = model.width,
                                                          .out = model.channels,
                                                          .bias = true,
                                                          .activation = ActivationKind::kTanh}));
  return {"generator", std::move(blocks)};
}

Network infogan_discriminator(const ModelSpec& model, const DiscriminatorStyle& style) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kConvolution,
                                                          .in = model.channels,
                                                          .out = model.width,
                                                          .bias = true,
                                                          .activation = style.activation,
                                                          .dropout = style.dropout,
                                                          .input = "image"}));
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.kind = LayerKind::kConvolution,
                                                          .in = model.width,
                                                          .out = kChannels,
                                                          .batch_norm = style.batch_norm,
                                                          .activation = style.activation,
                                                          .dropout = style.dropout}));
  blocks.push_back(
      std::make_unique<LayerBlock>(LayerSpec{.in = kChannels * kSide * kSide,
                                             .out = kHidden,
                                             .batch_norm = style.batch_norm,
                                             .activation = style.activation,
                                             .dropout = style.dropout,
                                             .input_shape = {kChannels * kSide * kSide}}));
  if (model.classes > 0) {
    blocks.push_back(std::make_unique<ProjectionHead>(model.classes, kHidden, 1));
  } else {
    blocks.push_back(
        std::make_unique<LayerBlock>(LayerSpec{.in = kHidden, .out = 1, .bias = true}));
  }
  return {"discriminator", std::move(blocks)};
}

}  // namespace gangway::gan
