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

BlockPorts ports_of(const SkipSpec& spec) { return {{"features", spec.skip}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const SkipSpec&) { return {}; }

BlockPorts ports_of(const InstanceLayerSpec& spec) { return {{spec.input}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const InstanceLayerSpec& spec) {
  const bool is_transposed = spec.kind == LayerKind::kTransposedConvolution;
  return {{.name = "weight",
           .shape = {is_transposed ? spec.in : spec.out, is_transposed ? spec.out : spec.in,
                     spec.kernel, spec.kernel}},
          {.name = "bias", .shape = {spec.out}, .initial = Initial::kZero}};
}

BlockPorts ports_of(const InstanceResidualSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const InstanceResidualSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_convolution(parameters, "first", spec.channels);
  add_convolution(parameters, "second", spec.channels);
  return parameters;
}

}  // namespace gangway
