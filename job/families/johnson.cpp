// SPDX-License-Identifier: MIT
// Networks of fast style transfer: the translator that changes pictures, and a small feature
// network for their comparison.
//
// As wide as published: model.width 32 and 5 model.blocks. With 3 channels it has 1,679,235
// parameters, as in PyTorch's example (InstanceNorm after Ulyanov et al., 2016; repeated pixels
// before a convolution). Maps: width channels at full size, twice as many at half, four times as
// many at a quarter; residual blocks there; then back.
#include <algorithm>
#include <utility>
#include <vector>

#include "job/families/family_networks.hpp"

namespace gangway {

Architecture johnson_translator(const ModelSpec& model) {
  const std::int64_t width = model.width;
  constexpr std::int64_t kOuterKernel = 9;
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(TransferLayerSpec{
      .in = model.channels, .out = width, .kernel = kOuterKernel, .input = "image"});
  blocks.emplace_back(TransferLayerSpec{.in = width, .out = 2 * width, .stride = 2});
  blocks.emplace_back(TransferLayerSpec{.in = 2 * width, .out = 4 * width, .stride = 2});
  for (int block = 0; block < model.blocks; ++block) {
    blocks.emplace_back(TransferResidualSpec{.channels = 4 * width});
  }
  blocks.emplace_back(TransferLayerSpec{.in = 4 * width, .out = 2 * width, .doubles = true});
  blocks.emplace_back(TransferLayerSpec{.in = 2 * width, .out = width, .doubles = true});
  blocks.emplace_back(TransferLayerSpec{.in = width,
                                        .out = model.channels,
                                        .kernel = kOuterKernel,
                                        .normalizes = false,
                                        .activation = Activation::kTanh});
  return {"generator", std::move(blocks)};
}

Architecture lenet_features(const ModelSpec& model) {
  const std::vector<BlockSpec> all{
      FeatureLevelSpec{.in = 1, .out = 16, .kernel = 5},
      FeatureLevelSpec{.in = 16, .out = 32, .kernel = 5, .pools = true, .level = 1}};
  const int levels = std::min(model.levels, kLenetLevels);  // a rule refuses larger values
  return {"features", {all.begin(), all.begin() + levels}, level_names(levels)};
}

std::int64_t johnson_feature_elements(const ModelSpec& model) {
  const std::int64_t pixels = std::int64_t{model.resolution} * model.resolution;
  // In units of `width` maps of full size: 1 at full size, 2 / 4 at half, 4 / 16 at a quarter, with
  // two layers per residual block. Maps of normalized layers count twice.
  const std::int64_t quarters = std::int64_t{2} * (4 + 2 + 1 + 2 * model.blocks + 2 + 4);
  return pixels * model.width * quarters / 4 + 2 * pixels * model.channels;
}

}  // namespace gangway
