// SPDX-License-Identifier: MIT
#include "job/blocks/layer_spec.hpp"

namespace gangway {
namespace {

std::vector<std::int64_t> weight_shape(const LayerSpec& spec) {
  switch (spec.kind) {
    case LayerKind::kLinear:
      return {spec.out, spec.in};
    case LayerKind::kConvolution:
      return {spec.out, spec.in, spec.kernel, spec.kernel};
    case LayerKind::kTransposedConvolution:
      return {spec.in, spec.out, spec.kernel, spec.kernel};
  }
  return {};
}

}  // namespace

BlockPorts ports_of(const LayerSpec& spec) { return {{spec.input}, {spec.output}}; }

std::vector<ParameterSpec> parameters_of(const LayerSpec& spec) {
  std::vector<ParameterSpec> parameters{
      {.name = "weight", .shape = weight_shape(spec), .initial_scale = spec.initial_scale}};
  if (spec.bias) {
    parameters.push_back({.name = "bias", .shape = {spec.out}, .initial = Initial::kZero});
  }
  if (spec.batch_norm) {
    parameters.push_back(
        {.name = "norm.weight", .shape = {spec.out}, .initial = Initial::kOnePlusNormal});
    parameters.push_back({.name = "norm.bias", .shape = {spec.out}, .initial = Initial::kZero});
  }
  return parameters;
}

std::vector<StatisticSpec> statistics_of(const LayerSpec& spec) {
  if (!spec.batch_norm) {
    return {};
  }
  return {{.name = "norm.running_mean", .features = spec.out, .initial = 0.0},
          {.name = "norm.running_var", .features = spec.out, .initial = 1.0}};
}

}  // namespace gangway
