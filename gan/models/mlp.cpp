// SPDX-License-Identifier: MIT
#include "gan/models/mlp.hpp"

#include <cmath>

namespace gangway::gan {
namespace {

constexpr int kHiddenLayers = 3;

/// Dense layers in → width (three times) → out, with He et al.'s (2015) scale of the initial
/// weights.
std::vector<std::unique_ptr<Block>> dense_stack(std::int64_t in, std::int64_t width,
                                                std::int64_t out, const DiscriminatorStyle& style,
                                                const std::string& input) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (int layer = 0; layer <= kHiddenLayers; ++layer) {
    const bool is_last = layer == kHiddenLayers;
    const std::int64_t features = layer == 0 ? in : width;
    blocks.push_back(std::make_unique<LayerBlock>(
        LayerSpec{.in = features,
                  .out = is_last ? out : width,
                  .bias = true,
                  .batch_norm = !is_last && style.batch_norm,
                  .activation = is_last ? ActivationKind::kNone : style.activation,
                  .dropout = is_last ? 0.0 : style.dropout,
                  .input = layer == 0 ? input : "features",
                  .initial_scale = std::sqrt(2.0 / static_cast<double>(features))}));
  }
  return blocks;
}

}  // namespace

Network mlp_generator(const ModelSpec& model) {
  return {"generator",
          dense_stack(model.latent, model.width, 2,
                      {.batch_norm = false, .activation = ActivationKind::kRelu}, "noise")};
}

Network mlp_discriminator(const ModelSpec& model, const DiscriminatorStyle& style) {
  return {"discriminator", dense_stack(2, model.width, 1, style, "image")};
}

}  // namespace gangway::gan
