// SPDX-License-Identifier: MIT
#include <cmath>

#include "job/families/family_networks.hpp"

namespace gangway {
namespace {

constexpr int kHiddenLayers = 3;

/// Returns dense layers in → width (three times) → out, with initial weights scaled as in He et al.
/// (2015). `hidden` describes all layers but the last.
std::vector<BlockSpec> dense_stack(std::int64_t in, std::int64_t width, std::int64_t out,
                                   const LayerSpec& hidden, const std::string& input) {
  std::vector<BlockSpec> blocks;
  for (int layer = 0; layer <= kHiddenLayers; ++layer) {
    const bool is_last = layer == kHiddenLayers;
    LayerSpec spec = is_last ? LayerSpec{} : hidden;
    spec.in = layer == 0 ? in : width;
    spec.out = is_last ? out : width;
    spec.bias = true;
    spec.input = layer == 0 ? input : "features";
    spec.initial_scale = std::sqrt(2.0 / static_cast<double>(spec.in));
    blocks.emplace_back(std::move(spec));
  }
  return blocks;
}

}  // namespace

Architecture mlp_generator(const ModelSpec& model) {
  return {"generator",
          dense_stack(model.inputs(), model.width, 2, {.activation = Activation::kRelu}, "noise")};
}

Architecture mlp_discriminator(const ModelSpec& model) {
  return {"discriminator", dense_stack(2, model.width, 1,
                                       {.batch_norm = model.normalizes_discriminator(),
                                        .activation = model.activation,
                                        .dropout = model.dropout},
                                       "image")};
}

Architecture mlp_encoder(const ModelSpec& model) {
  return {"encoder", dense_stack(2, model.width, 2 * std::int64_t{model.latent},
                                 {.batch_norm = model.normalizes_discriminator(),
                                  .activation = model.activation},
                                 "image")};
}

}  // namespace gangway
