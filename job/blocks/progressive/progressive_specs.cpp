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

BlockTensors tensors_of(const ProgressiveStartSpec& spec) {
  BlockTensors tensors{.ports = {{"noise"}, {"features", "picture"}}};
  // One bias per map, as for a 4x4 convolution of a map of one pixel (table 2).
  add_equalised(tensors.parameters, "first", {spec.channels * kFirstSide * kFirstSide, spec.in},
                spec.channels);
  add_convolution(tensors.parameters, "second", spec.channels, spec.channels, 3);
  add_convolution(tensors.parameters, "picture", spec.channels, spec.pictures, 1);
  return tensors;
}

BlockTensors tensors_of(const ProgressiveUpSpec& spec) {
  BlockTensors tensors{.ports = {{"features", "picture"}, {"features", "picture"}}};
  add_convolution(tensors.parameters, "first", spec.in, spec.out, 3);
  add_convolution(tensors.parameters, "second", spec.out, spec.out, 3);
  add_convolution(tensors.parameters, "picture", spec.out, spec.pictures, 1);
  return tensors;
}

BlockTensors tensors_of(const ProgressivePictureSpec&) {
  return {.ports = {{"picture"}, {"features"}}};
}

BlockTensors tensors_of(const ProgressiveDownSpec& spec) {
  BlockTensors tensors{.ports = spec.place.part == spec.place.last
                                    ? BlockPorts{{"image"}, {"features"}}
                                    : BlockPorts{{"image", "features"}, {"features"}}};
  add_convolution(tensors.parameters, "picture", spec.pictures, spec.in, 1);
  add_convolution(tensors.parameters, "first", spec.in, spec.in, 3);
  add_convolution(tensors.parameters, "second", spec.in, spec.out, 3);
  return tensors;
}

BlockTensors tensors_of(const ProgressiveEndSpec& spec) {
  BlockTensors tensors{.ports = {{"image", "features"}, {"features"}}};
  if (spec.classes > 0) {
    tensors.ports.inputs.emplace_back("labels");
  }
  add_convolution(tensors.parameters, "picture", spec.pictures, spec.channels, 1);
  add_convolution(tensors.parameters, "first", spec.channels + 1, spec.channels, 3);
  add_equalised(tensors.parameters, "second",
                {spec.channels, spec.channels * kFirstSide * kFirstSide}, spec.channels);
  add_equalised(tensors.parameters, "logit", {1, spec.channels}, 1);
  if (spec.classes > 0) {
    tensors.parameters.push_back(
        {.name = "embedding", .shape = {spec.classes, spec.channels}, .initial_scale = 1.0});
  }
  return tensors;
}

}  // namespace gangway
