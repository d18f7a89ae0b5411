// SPDX-License-Identifier: MIT
// Residual blocks without normalization in both networks, and pictures without tanh.
//
// As wide as published: model.width 768 at 32 pixels (CIFAR-10; 1536 is ImageNet-32), 384 at 64 and
// 96 at 256 (FFHQ), each with model.latent 64 and 2 model.blocks.
//
// Structure and constants follow the authors' code (github.com/brownvc/R3GAN, R3GAN/Networks.py and
// the presets of train.py).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "job/blocks/initial_deviation.hpp"
#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kExpansion = 2;       // of channels inside a residual block
constexpr std::int64_t kGroupChannels = 16;  // of a grouped convolution …
constexpr std::int64_t kMostGroups = 96;     // … until there are so many groups
constexpr double kSlope = 0.2;               // of leaky ReLU below zero: gan/blocks/layer_block.hpp

/// Returns channels: constant up to the widest side, halved by each doubling above.
std::int64_t channels_at(const ModelSpec& model, std::int64_t side) {
  return std::int64_t{model.width} * model.resolution /
         std::max(side, std::int64_t{model.widest_side});
}

/// Returns the number of map sizes, from 4 pixels to the picture's.
int num_stages(const ModelSpec& model) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(model.resolution / kBasisSide)));
}

/// Returns whether maps of `side` pixels may compute in 16 bits, with the blocks that make maps of
/// that size (generator) or smaller ones (discriminator): the authors' FP16Stages.
bool may_be_half(const ModelSpec& model, std::int64_t side) {
  return model.half_precision_sizes == 0 ||
         side >= std::int64_t{model.resolution} >> (model.half_precision_sizes - 1);
}

/// Returns the published number, or the largest smaller one that divides the channels.
std::int64_t num_groups(std::int64_t expanded) {
  std::int64_t groups = std::clamp(expanded / kGroupChannels, std::int64_t{1}, kMostGroups);
  while (expanded % groups != 0) {
    --groups;
  }
  return groups;
}

/// Leaky ReLU's gain (He et al., 2015) times L^(-1/(2m-2)) for L residual blocks of m = 3 linear
/// maps (Fixup, Zhang et al., 2019, section 3). Uses roots alone, because every machine rounds them
/// alike.
double initial_gain(const ModelSpec& model) {
  const double num_blocks = model.blocks * num_stages(model);
  return std::sqrt(2.0 / (1.0 + kSlope * kSlope)) / std::sqrt(std::sqrt(num_blocks));
}

void add_residuals(const ModelSpec& model, std::int64_t side, std::vector<BlockSpec>& blocks) {
  const std::int64_t channels = channels_at(model, side);
  const std::int64_t expanded = kExpansion * channels;
  for (int block = 0; block < model.blocks; ++block) {
    blocks.emplace_back(ResidualSpec{.channels = channels,
                                     .expanded = expanded,
                                     .groups = num_groups(expanded),
                                     .gain = initial_gain(model)});
  }
}

/// Returns a 1x1 convolution between pictures and features.
LayerSpec pointwise(std::int64_t in, std::int64_t out, const std::string& input) {
  return {.kind = LayerKind::kConvolution,
          .in = in,
          .out = out,
          .kernel = 1,
          .stride = 1,
          .padding = 0,
          .input = input,
          .initial_scale = deviation(1.0, in)};
}

}  // namespace

Architecture r3gan_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t in = model.latent;
  if (model.classes > 0) {
    blocks.emplace_back(LabelEmbeddingSpec{.classes = model.classes, .features = model.latent});
    in += model.latent;
  }
  std::int64_t side = kBasisSide;
  blocks.emplace_back(GenerativeBasisSpec{.in = in, .channels = channels_at(model, side)});
  add_residuals(model, side, blocks);
  std::size_t num_in_fp32 = may_be_half(model, side) ? 0 : blocks.size();  // the first blocks
  for (; side < model.resolution; side *= 2) {
    blocks.emplace_back(ResamplingSpec{.direction = Resampling::kUp,
                                       .in = channels_at(model, side),
                                       .out = channels_at(model, 2 * side)});
    add_residuals(model, 2 * side, blocks);
    num_in_fp32 = may_be_half(model, 2 * side) ? num_in_fp32 : blocks.size();
  }
  blocks.emplace_back(pointwise(channels_at(model, side), model.channels, "features"));
  return {.name = "generator",
          .blocks = std::move(blocks),
          .fp32_blocks = blocks_between(0, num_in_fp32),
          .is_fp32_beside_bf16 = true};
}

Architecture r3gan_discriminator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  std::int64_t side = model.resolution;
  blocks.emplace_back(pointwise(model.channels, channels_at(model, side), "image"));
  std::size_t first_in_fp32 = blocks.size();
  for (; side > kBasisSide; side /= 2) {
    add_residuals(model, side, blocks);
    blocks.emplace_back(ResamplingSpec{.direction = Resampling::kDown,
                                       .in = channels_at(model, side),
                                       .out = channels_at(model, side / 2)});
    first_in_fp32 = may_be_half(model, side) ? blocks.size() : first_in_fp32;
  }
  add_residuals(model, side, blocks);
  const std::int64_t channels = channels_at(model, side);
  blocks.emplace_back(
      DiscriminativeBasisSpec{.channels = channels, .out = model.classes > 0 ? channels : 1});
  if (model.classes > 0) {
    blocks.emplace_back(LabelProductSpec{.classes = model.classes, .features = channels});
  }
  const std::size_t end = blocks.size();
  return {.name = "discriminator",
          .blocks = std::move(blocks),
          .fp32_blocks = blocks_between(may_be_half(model, side) ? end : first_in_fp32, end),
          .is_fp32_beside_bf16 = true};
}

std::int64_t r3gan_feature_elements(const ModelSpec& model) {
  std::int64_t side = model.resolution;
  std::int64_t elements = side * side * model.channels;
  for (const BlockSpec& block : r3gan_discriminator(model).blocks) {
    if (const auto* residual = std::get_if<ResidualSpec>(&block)) {
      elements += side * side * (residual->channels + 2 * residual->expanded);
    } else if (std::holds_alternative<ResamplingSpec>(block)) {
      side /= 2;
    }
  }
  return elements;
}

}  // namespace gangway
