// SPDX-License-Identifier: MIT
// Networks that turn a picture into another of the same size, and discriminators that judge such
// pictures patch by patch.
//
// unet: pix2pix's U-Net, BatchNorm, with dropout in the decoder as the only noise. cyclegan:
// CycleGAN's residual blocks, instance normalization. Counts at 256 pixels, width 64, RGB are those
// of the authors' PyTorch code (github.com/junyanz/pytorch-CycleGAN-and-pix2pix,
// models/networks.py).
//
// Not here, but in that code: a trained U-Net uses the test picture's BatchNorm statistics, and
// dropout. Here it is a function of its input alone.
//
// Structure and constants follow that code.
#include <algorithm>
#include <bit>
#include <string>

#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

/// For the decoder's levels with as many channels as the innermost (Isola et al., 2017, appendix
/// 6.1.1).
constexpr double kDecoderDropout = 0.5;
constexpr int kWidest = 8;  // times model.width, in every network

/// Returns the number of halvings from the picture to one pixel.
int levels_of(const ModelSpec& model) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(model.resolution))) - 1;
}

/// Returns the channels behind a level of an encoder, from 0 on.
std::int64_t channels_at(const ModelSpec& model, int level) {
  return std::int64_t{model.width} * std::min(kWidest, 1 << std::min(level, 3));
}

std::string skip_of(int level) { return "skip" + std::to_string(level); }

/// Returns the number of a discriminator's layers with stride 2.
int strided_layers(const ModelSpec& model) { return std::clamp(levels_of(model) - 4, 1, 3); }

/// The last two layers have stride 1.
std::int64_t stride_of(int layer, int strided) { return layer < strided ? 2 : 1; }

Architecture batch_discriminator(const ModelSpec& model, std::int64_t in) {
  std::vector<BlockSpec> blocks;
  const int strided = strided_layers(model);
  std::int64_t channels = in;
  for (int layer = 0; layer <= strided; ++layer) {
    const std::int64_t out = channels_at(model, layer);
    blocks.emplace_back(LayerSpec{.kind = LayerKind::kConvolution,
                                  .in = channels,
                                  .out = out,
                                  .stride = stride_of(layer, strided),
                                  .bias = layer == 0,
                                  .batch_norm = layer > 0,
                                  .activation = Activation::kLeakyRelu,
                                  .input = layer == 0 ? "image" : "features"});
    channels = out;
  }
  blocks.emplace_back(LayerSpec{
      .kind = LayerKind::kConvolution, .in = channels, .out = 1, .stride = 1, .bias = true});
  return {"discriminator", std::move(blocks)};
}

Architecture instance_discriminator(const ModelSpec& model, std::int64_t in) {
  std::vector<BlockSpec> blocks;
  const int strided = strided_layers(model);
  std::int64_t channels = in;
  for (int layer = 0; layer <= strided; ++layer) {
    const std::int64_t out = channels_at(model, layer);
    blocks.emplace_back(InstanceLayerSpec{.in = channels,
                                          .out = out,
                                          .kernel = 4,
                                          .stride = stride_of(layer, strided),
                                          .normalizes = layer > 0,
                                          .activation = Activation::kLeakyRelu,
                                          .input = layer == 0 ? "image" : "features"});
    channels = out;
  }
  blocks.emplace_back(InstanceLayerSpec{
      .in = channels, .out = 1, .kernel = 4, .normalizes = false, .activation = Activation::kNone});
  return {"discriminator", std::move(blocks)};
}

/// Returns the first or last layer of CycleGAN's generator.
InstanceLayerSpec wide_layer(std::int64_t in, std::int64_t out) {
  return {.in = in, .out = out, .kernel = 7, .padding = 3, .border = Border::kMirror};
}

}  // namespace

Architecture unet_translator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const int levels = levels_of(model);
  std::int64_t channels = model.channels;
  for (int level = 0; level < levels; ++level) {
    const bool is_innermost = level + 1 == levels;
    blocks.emplace_back(
        LayerSpec{.kind = LayerKind::kConvolution,
                  .in = channels,
                  .out = channels_at(model, level),
                  .batch_norm = level > 0 && !is_innermost,
                  .activation = is_innermost ? Activation::kRelu : Activation::kLeakyRelu,
                  .input = level == 0 ? "image" : skip_of(level - 1),
                  .output = is_innermost ? "features" : skip_of(level)});
    channels = channels_at(model, level);
  }
  for (int level = levels - 1; level > 0; --level) {
    const std::int64_t out = channels_at(model, level - 1);
    const bool is_as_wide = level + 1 < levels && out == channels_at(model, levels);
    blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                  .in = channels,
                                  .out = out,
                                  .batch_norm = true,
                                  .activation = Activation::kRelu,
                                  .dropout = is_as_wide ? kDecoderDropout : 0.0});
    blocks.emplace_back(SkipSpec{.skip = skip_of(level - 1)});
    channels = 2 * out;
  }
  blocks.emplace_back(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                .in = channels,
                                .out = model.channels,
                                .bias = true,
                                .activation = Activation::kTanh});
  return {"translator", std::move(blocks)};
}

Architecture residual_translator(const ModelSpec& model) {
  const std::int64_t width = model.width;
  std::vector<BlockSpec> blocks;
  InstanceLayerSpec first = wide_layer(model.channels, width);
  first.input = "image";
  blocks.emplace_back(first);
  for (const std::int64_t in : {width, 2 * width}) {
    blocks.emplace_back(InstanceLayerSpec{.in = in, .out = 2 * in, .stride = 2});
  }
  for (int block = 0; block < model.blocks; ++block) {
    blocks.emplace_back(InstanceResidualSpec{.channels = 4 * width});
  }
  for (const std::int64_t out : {2 * width, width}) {
    blocks.emplace_back(InstanceLayerSpec{.kind = LayerKind::kTransposedConvolution,
                                          .in = 2 * out,
                                          .out = out,
                                          .stride = 2,
                                          .output_padding = 1});
  }
  InstanceLayerSpec last = wide_layer(width, model.channels);
  last.normalizes = false;
  last.activation = Activation::kTanh;
  blocks.emplace_back(last);
  return {"translator", std::move(blocks)};
}

Architecture unet_discriminator(const ModelSpec& model) {
  return batch_discriminator(model, model.channels);
}

Architecture residual_discriminator(const ModelSpec& model) {
  return instance_discriminator(model, model.channels);
}

Architecture unet_pair_discriminator(const ModelSpec& model) {
  return batch_discriminator(model, 2 * std::int64_t{model.channels});
}

Architecture residual_pair_discriminator(const ModelSpec& model) {
  return instance_discriminator(model, 2 * std::int64_t{model.channels});
}

std::int64_t unet_feature_elements(const ModelSpec& model) {
  std::int64_t elements = std::int64_t{model.resolution} * model.resolution * model.channels;
  std::int64_t side = model.resolution / 2;
  for (int level = 0; level < levels_of(model); ++level, side /= 2) {
    elements += 3 * side * side * channels_at(model, level);  // encoder, decoder, and both joined
  }
  return elements;
}

std::int64_t residual_feature_elements(const ModelSpec& model) {
  const std::int64_t pixels = std::int64_t{model.resolution} * model.resolution;
  // Maps of full size at both ends; maps of half and quarter size between them.
  return pixels * (2 * model.width + 2 * model.width / 2 + model.blocks * 2 * model.width / 4);
}

}  // namespace gangway
