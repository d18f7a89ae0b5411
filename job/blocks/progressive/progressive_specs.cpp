// SPDX-License-Identifier: MIT
#include "job/blocks/progressive/progressive_specs.hpp"

#include <string>
#include <utility>

namespace gangway {
namespace {

/// Adds "NAME.weight" of `shape` and "NAME.bias", a bias per output.
void add_equalised(std::vector<ParameterSpec>& parameters, const std::string& name,
                   std::vector<std::int64_t> shape, std::int64_t biases) {
  parameters.push_back({.name = name + ".weight", .shape = std::move(shape), .initial_scale = 1.0});
  parameters.push_back({.name = name + ".bias", .shape = {biases}, .initial = Initial::kZero});
}

void add_convolution(std::vector<ParameterSpec>& parameters, const std::string& name,
                     std::int64_t in, std::int64_t out, std::int64_t kernel) {
  add_equalised(parameters, name, {out, in, kernel, kernel}, out);
}

}  // namespace

BlockPorts ports_of(const ProgressiveStartSpec&) { return {{"noise"}, {"features", "picture"}}; }

std::vector<ParameterSpec> parameters_of(const ProgressiveStartSpec& spec) {
  std::vector<ParameterSpec> parameters;
  // One bias per map, as for a 4x4 convolution of a map of one pixel (table 2).
  add_equalised(parameters, "first", {spec.channels * kFirstSide * kFirstSide, spec.in},
                spec.channels);
  add_convolution(parameters, "second", spec.channels, spec.channels, 3);
  add_convolution(parameters, "picture", spec.channels, spec.pictures, 1);
  return parameters;
}

BlockPorts ports_of(const ProgressiveUpSpec&) {
  return {{"features", "picture"}, {"features", "picture"}};
}

std::vector<ParameterSpec> parameters_of(const ProgressiveUpSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_convolution(parameters, "first", spec.in, spec.out, 3);
  add_convolution(parameters, "second", spec.out, spec.out, 3);
  add_convolution(parameters, "picture", spec.out, spec.pictures, 1);
  return parameters;
}

BlockPorts ports_of(const ProgressivePictureSpec&) { return {{"picture"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const ProgressivePictureSpec&) { return {}; }

BlockPorts ports_of(const ProgressiveDownSpec& spec) {
  return spec.place.part == spec.place.last ? BlockPorts{{"image"}, {"features"}}
                                            : BlockPorts{{"image", "features"}, {"features"}};
}

std::vector<ParameterSpec> parameters_of(const ProgressiveDownSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_convolution(parameters, "picture", spec.pictures, spec.in, 1);
  add_convolution(parameters, "first", spec.in, spec.in, 3);
  add_convolution(parameters, "second", spec.in, spec.out, 3);
  return parameters;
}

BlockPorts ports_of(const ProgressiveEndSpec& spec) {
  BlockPorts ports{{"image", "features"}, {"features"}};
  if (spec.classes > 0) {
    ports.inputs.emplace_back("labels");
  }
  return ports;
}

std::vector<ParameterSpec> parameters_of(const ProgressiveEndSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_convolution(parameters, "picture", spec.pictures, spec.channels, 1);
  add_convolution(parameters, "first", spec.channels + 1, spec.channels, 3);
  add_equalised(parameters, "second", {spec.channels, spec.channels * kFirstSide * kFirstSide},
                spec.channels);
  add_equalised(parameters, "logit", {1, spec.channels}, 1);
  if (spec.classes > 0) {
    parameters.push_back(
        {.name = "embedding", .shape = {spec.classes, spec.channels}, .initial_scale = 1.0});
  }
  return parameters;
}

}  // namespace gangway
