// SPDX-License-Identifier: MIT
#include <cmath>

#include "job/families/family_networks.hpp"
#include "job/families/label_input.hpp"

namespace gangway {
namespace {

/// Returns the deviation: `gain` 2 before a rectifier (He et al., 2015, eq. 10), else 1.
double scale_of(std::int64_t in, double gain) { return std::sqrt(gain / static_cast<double>(in)); }

std::int64_t num_pixels(const ModelSpec& model) {
  return std::int64_t{model.channels} * model.resolution * model.resolution;
}

LayerSpec first_layer_of_image(const ModelSpec& model) {
  const std::int64_t pixels = num_pixels(model);
  return {.in = pixels,
          .out = model.width,
          .bias = true,
          .batch_norm = model.normalizes_discriminator(),
          .activation = model.activation,
          .input_shape = {pixels},
          .input = "image",
          .initial_scale = scale_of(pixels, 2.0)};
}

LayerSpec last_layer(const ModelSpec& model, std::int64_t out) {
  return {.in = model.width, .out = out, .bias = true, .initial_scale = scale_of(model.width, 1.0)};
}

}  // namespace

Architecture dense_generator(const ModelSpec& model) {
  std::vector<BlockSpec> blocks;
  const std::int64_t latent = add_label_input(model, blocks);
  blocks.emplace_back(LayerSpec{.in = latent,
                                .out = model.width,
                                .bias = true,
                                .activation = Activation::kRelu,
                                .input = "noise",
                                .initial_scale = scale_of(latent, 2.0)});
  LayerSpec last = last_layer(model, num_pixels(model));
  last.activation = Activation::kTanh;
  last.output_shape = {model.channels, model.resolution, model.resolution};
  blocks.emplace_back(std::move(last));
  return {"generator", std::move(blocks)};
}

Architecture dense_discriminator(const ModelSpec& model) {
  LayerSpec first = first_layer_of_image(model);
  first.dropout = model.dropout;
  std::vector<BlockSpec> blocks{std::move(first)};
  if (model.classes > 0) {
    blocks.emplace_back(
        ProjectionHeadSpec{.classes = model.classes, .features = model.width, .pixels = 1});
  } else {
    blocks.emplace_back(last_layer(model, 1));
  }
  return {"discriminator", std::move(blocks)};
}

Architecture dense_encoder(const ModelSpec& model) {
  return {"encoder",
          {first_layer_of_image(model), last_layer(model, 2 * std::int64_t{model.latent})}};
}

}  // namespace gangway
