// SPDX-License-Identifier: MIT
#include "job/blocks/style_specs.hpp"

#include <string>
#include <utility>

#include "job/blocks/residual_specs.hpp"
#include "job/blocks/transformer_specs.hpp"

namespace gangway {
namespace {

/// "NAME.weight" and "NAME.bias" of a convolution; `kernel` 0: of a dense map. `rate` is a factor
/// on both at each use.
struct EqualizedMap {
  std::string name = {};
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 0;
  double rate = 1.0;
  double bias = 0.0;  ///< initial value of all elements
};

void add_map(std::vector<ParameterSpec>& parameters, const EqualizedMap& map) {
  const std::string prefix = map.name.empty() ? "" : map.name + ".";
  std::vector<std::int64_t> shape{map.out, map.in};
  if (map.kernel > 0) {
    shape.insert(shape.end(), 2, map.kernel);
  }
  parameters.push_back(
      {.name = prefix + "weight", .shape = std::move(shape), .initial_scale = 1.0 / map.rate});
  parameters.push_back({.name = prefix + "bias",
                        .shape = {map.out},
                        .initial = map.bias == 0.0 ? Initial::kZero : Initial::kConstant,
                        .initial_scale = map.bias});
}

/// Adds the dense layers of a mapping, "layer0", "layer1" …
void add_mapping(std::vector<ParameterSpec>& parameters, std::int64_t in, std::int64_t features,
                 int layers) {
  for (int layer = 0; layer < layers; ++layer) {
    add_map(parameters, {.name = "layer" + std::to_string(layer),
                         .in = layer == 0 ? in : features,
                         .out = features,
                         .rate = kStyleRate});
  }
}

void add_embedding(std::vector<ParameterSpec>& parameters, std::int64_t classes,
                   std::int64_t features) {
  add_map(parameters, {.name = "embedding", .in = classes, .out = features});
}

/// Adds the map from a style to the factors of `in` maps, which begin near one.
void add_factors(std::vector<ParameterSpec>& parameters, std::int64_t features, std::int64_t in) {
  add_map(parameters, {.name = "factors", .in = features, .out = in, .bias = 1.0});
}

}  // namespace

BlockTensors tensors_of(const StyleMappingSpec& spec) {
  BlockTensors tensors{.ports = spec.classes > 0 ? BlockPorts{{"noise", "labels"}, {kStyles}}
                                                 : BlockPorts{{"noise"}, {kStyles}}};
  std::int64_t in = spec.latent;
  if (spec.classes > 0) {
    add_embedding(tensors.parameters, spec.classes, spec.features);
    in += spec.features;
  }
  add_mapping(tensors.parameters, in, spec.features, spec.layers);
  tensors.statistics = {{.name = kPathLength, .momentum = kPathLengthMomentum}};
  return tensors;
}

BlockTensors tensors_of(const StyleConstantSpec& spec) {
  return {.ports = {{kStyles}, {"features"}},
          .parameters = {{.name = "constant",
                          .shape = {spec.channels, kBasisSide, kBasisSide},
                          .initial_scale = 1.0}}};
}

BlockTensors tensors_of(const StyleLayerSpec& spec) {
  BlockTensors tensors{.ports = {{"features", kStyles}, {"features"}}};
  add_factors(tensors.parameters, spec.features, spec.in);
  add_map(tensors.parameters, {.in = spec.in, .out = spec.out, .kernel = 3});
  tensors.parameters.push_back({.name = "noise_strength", .shape = {1}, .initial = Initial::kZero});
  if (spec.stores_noise) {
    tensors.statistics = {{.name = kStoredNoise, .features = spec.side * spec.side}};
  }
  return tensors;
}

BlockTensors tensors_of(const StylePictureSpec& spec) {
  BlockTensors tensors{.ports = {{"features", kStyles}, {spec.is_last ? "features" : "picture"}}};
  if (!spec.is_first) {
    tensors.ports.inputs.emplace_back("picture");
  }
  add_factors(tensors.parameters, spec.features, spec.in);
  add_map(tensors.parameters, {.in = spec.in, .out = spec.channels, .kernel = 1});
  return tensors;
}

BlockTensors tensors_of(const StyleImageSpec& spec) {
  BlockTensors tensors{.ports = {{"image"}, {"features"}}};
  add_map(tensors.parameters, {.in = spec.channels, .out = spec.out, .kernel = 1});
  return tensors;
}

BlockTensors tensors_of(const StyleHalvingSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  add_map(tensors.parameters, {.name = "first", .in = spec.in, .out = spec.in, .kernel = 3});
  add_map(tensors.parameters, {.name = "second", .in = spec.in, .out = spec.out, .kernel = 3});
  if (spec.is_residual) {
    tensors.parameters.push_back(
        {.name = "skip.weight", .shape = {spec.out, spec.in, 1, 1}, .initial_scale = 1.0});
  }
  return tensors;
}

BlockTensors tensors_of(const StyleEpilogueSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  const std::int64_t pixels = kBasisSide * kBasisSide;
  add_map(tensors.parameters,
          {.name = "convolution", .in = spec.channels + 1, .out = spec.channels, .kernel = 3});
  add_map(tensors.parameters,
          {.name = "dense", .in = spec.channels * pixels, .out = spec.channels});
  add_map(tensors.parameters, {.name = "head", .in = spec.channels, .out = spec.out});
  return tensors;
}

BlockTensors tensors_of(const StyleLabelSpec& spec) {
  BlockTensors tensors{.ports = {{"features", "labels"}, {"features"}}};
  add_embedding(tensors.parameters, spec.classes, spec.features);
  add_mapping(tensors.parameters, spec.features, spec.features, spec.layers);
  return tensors;
}

}  // namespace gangway
