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

BlockPorts ports_of(const StyleMappingSpec& spec) {
  return spec.classes > 0 ? BlockPorts{{"noise", "labels"}, {kStyles}}
                          : BlockPorts{{"noise"}, {kStyles}};
}

std::vector<ParameterSpec> parameters_of(const StyleMappingSpec& spec) {
  std::vector<ParameterSpec> parameters;
  std::int64_t in = spec.latent;
  if (spec.classes > 0) {
    add_embedding(parameters, spec.classes, spec.features);
    in += spec.features;
  }
  add_mapping(parameters, in, spec.features, spec.layers);
  return parameters;
}

std::vector<StatisticSpec> statistics_of(const StyleMappingSpec&) {
  return {{.name = kPathLength, .momentum = kPathLengthMomentum}};
}

BlockPorts ports_of(const StyleConstantSpec&) { return {{kStyles}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleConstantSpec& spec) {
  return {
      {.name = "constant", .shape = {spec.channels, kBasisSide, kBasisSide}, .initial_scale = 1.0}};
}

BlockPorts ports_of(const StyleLayerSpec&) { return {{"features", kStyles}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleLayerSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_factors(parameters, spec.features, spec.in);
  add_map(parameters, {.in = spec.in, .out = spec.out, .kernel = 3});
  parameters.push_back({.name = "noise_strength", .shape = {1}, .initial = Initial::kZero});
  return parameters;
}

BlockPorts ports_of(const StylePictureSpec& spec) {
  BlockPorts ports{{"features", kStyles}, {spec.is_last ? "features" : "picture"}};
  if (!spec.is_first) {
    ports.inputs.emplace_back("picture");
  }
  return ports;
}

std::vector<ParameterSpec> parameters_of(const StylePictureSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_factors(parameters, spec.features, spec.in);
  add_map(parameters, {.in = spec.in, .out = spec.channels, .kernel = 1});
  return parameters;
}

BlockPorts ports_of(const StyleImageSpec&) { return {{"image"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleImageSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_map(parameters, {.in = spec.channels, .out = spec.out, .kernel = 1});
  return parameters;
}

BlockPorts ports_of(const StyleHalvingSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleHalvingSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_map(parameters, {.name = "first", .in = spec.in, .out = spec.in, .kernel = 3});
  add_map(parameters, {.name = "second", .in = spec.in, .out = spec.out, .kernel = 3});
  if (spec.is_residual) {
    parameters.push_back(
        {.name = "skip.weight", .shape = {spec.out, spec.in, 1, 1}, .initial_scale = 1.0});
  }
  return parameters;
}

BlockPorts ports_of(const StyleEpilogueSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleEpilogueSpec& spec) {
  const std::int64_t pixels = kBasisSide * kBasisSide;
  std::vector<ParameterSpec> parameters;
  add_map(parameters,
          {.name = "convolution", .in = spec.channels + 1, .out = spec.channels, .kernel = 3});
  add_map(parameters, {.name = "dense", .in = spec.channels * pixels, .out = spec.channels});
  add_map(parameters, {.name = "head", .in = spec.channels, .out = spec.out});
  return parameters;
}

BlockPorts ports_of(const StyleLabelSpec&) { return {{"features", "labels"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const StyleLabelSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_embedding(parameters, spec.classes, spec.features);
  add_mapping(parameters, spec.features, spec.features, spec.layers);
  return parameters;
}

}  // namespace gangway
