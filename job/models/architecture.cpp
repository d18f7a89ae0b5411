// SPDX-License-Identifier: MIT
#include "job/models/architecture.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

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

std::vector<ParameterSpec> parameters_of(const LabelConcatenationSpec&) { return {}; }

std::vector<ParameterSpec> parameters_of(const ProjectionHeadSpec& spec) {
  return {{.name = "weight", .shape = {1, spec.features * spec.pixels}},
          {.name = "embedding", .shape = {spec.classes, spec.features}}};
}

std::vector<StatisticSpec> statistics_of(const LayerSpec& spec) {
  if (!spec.batch_norm) {
    return {};
  }
  return {{.name = "norm.running_mean", .features = spec.out, .initial = 0.0},
          {.name = "norm.running_var", .features = spec.out, .initial = 1.0}};
}

std::int64_t num_parameters(const Architecture& network) {
  std::int64_t count = 0;
  for (const BlockSpec& block : network.blocks) {
    for (const ParameterSpec& parameter :
         std::visit([](const auto& spec) { return parameters_of(spec); }, block)) {
      count += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                               std::multiplies<>());
    }
  }
  return count;
}

bool normalizes_dense_layers(const Architecture& network) {
  return std::any_of(network.blocks.begin(), network.blocks.end(), [](const BlockSpec& block) {
    const auto* layer = std::get_if<LayerSpec>(&block);
    return layer != nullptr && layer->kind == LayerKind::kLinear && layer->batch_norm;
  });
}

}  // namespace gangway
