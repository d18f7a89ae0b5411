// SPDX-License-Identifier: MIT
#include "job/blocks/translation_specs.hpp"

namespace gangway {
namespace {

/// Adds "NAME.weight" and "NAME.bias" of a 3x3 convolution that keeps the channels.
void add_convolution(std::vector<ParameterSpec>& parameters, const std::string& name,
                     std::int64_t channels) {
  parameters.push_back({.name = name + ".weight", .shape = {channels, channels, 3, 3}});
  parameters.push_back({.name = name + ".bias", .shape = {channels}, .initial = Initial::kZero});
}

}  // namespace

BlockTensors tensors_of(const SkipSpec& spec) {
  return {.ports = {{"features", spec.skip}, {"features"}}};
}

BlockTensors tensors_of(const InstanceLayerSpec& spec) {
  const bool is_transposed = spec.kind == LayerKind::kTransposedConvolution;
  return {.ports = {{spec.input}, {"features"}},
          .parameters = {{.name = "weight",
                          .shape = {is_transposed ? spec.in : spec.out,
                                    is_transposed ? spec.out : spec.in, spec.kernel, spec.kernel}},
                         {.name = "bias", .shape = {spec.out}, .initial = Initial::kZero}}};
}

BlockTensors tensors_of(const InstanceResidualSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  add_convolution(tensors.parameters, "first", spec.channels);
  add_convolution(tensors.parameters, "second", spec.channels);
  return tensors;
}

}  // namespace gangway
