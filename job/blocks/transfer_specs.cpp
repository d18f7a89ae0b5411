// SPDX-License-Identifier: MIT
#include "job/blocks/transfer_specs.hpp"

#include <numbers>

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
namespace {

/// Adds "PREFIXweight" and "PREFIXbias" of a convolution.
void add_convolution(std::vector<ParameterSpec>& parameters, const std::string& prefix,
                     const std::vector<std::int64_t>& shape, double gain) {
  parameters.push_back({.name = prefix + "weight",
                        .shape = shape,
                        .initial_scale = deviation(gain, shape[1] * shape[2] * shape[3])});
  parameters.push_back(
      {.name = prefix + "bias", .shape = {shape.front()}, .initial = Initial::kZero});
}

void add_norm(std::vector<ParameterSpec>& parameters, const std::string& prefix,
              std::int64_t channels) {
  parameters.push_back({.name = prefix + "weight",
                        .shape = {channels},
                        .initial = Initial::kConstant,
                        .initial_scale = 1.0});
  parameters.push_back({.name = prefix + "bias", .shape = {channels}, .initial = Initial::kZero});
}

}  // namespace

BlockTensors tensors_of(const TransferLayerSpec& spec) {
  BlockTensors tensors{.ports = {{spec.input}, {"features"}}};
  const double gain = spec.activation == Activation::kRelu ? std::numbers::sqrt2 : 1.0;
  add_convolution(tensors.parameters, "", {spec.out, spec.in, spec.kernel, spec.kernel}, gain);
  if (spec.normalizes) {
    add_norm(tensors.parameters, "norm.", spec.out);
  }
  return tensors;
}

BlockTensors tensors_of(const TransferResidualSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  const std::vector<std::int64_t> shape{spec.channels, spec.channels, 3, 3};
  add_convolution(tensors.parameters, "first.", shape, std::numbers::sqrt2);
  add_norm(tensors.parameters, "first_norm.", spec.channels);
  add_convolution(tensors.parameters, "second.", shape, 1.0);
  add_norm(tensors.parameters, "second_norm.", spec.channels);
  return tensors;
}

BlockTensors tensors_of(const FeatureLevelSpec& spec) {
  BlockTensors tensors{.ports = {{spec.level == 0 ? "image" : "features"},
                                 {"features", level_names(spec.level + 1).back()}}};
  add_convolution(tensors.parameters, "", {spec.out, spec.in, spec.kernel, spec.kernel},
                  std::numbers::sqrt2);
  return tensors;
}

std::vector<std::string> level_names(int count) {
  std::vector<std::string> names;
  for (int level = 0; level < count; ++level) {
    names.push_back("level" + std::to_string(level));
  }
  return names;
}

}  // namespace gangway
