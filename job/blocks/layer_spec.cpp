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

BlockTensors tensors_of(const LayerSpec& spec) {
  BlockTensors tensors{
      .ports = {{spec.input}, {spec.output}},
      .parameters = {
          {.name = "weight", .shape = weight_shape(spec), .initial_scale = spec.initial_scale}}};
  if (spec.bias) {
    tensors.parameters.push_back({.name = "bias", .shape = {spec.out}, .initial = Initial::kZero});
  }
  if (spec.batch_norm) {
    tensors.parameters.push_back(
        {.name = "norm.weight", .shape = {spec.out}, .initial = Initial::kOnePlusNormal});
    tensors.parameters.push_back(
        {.name = "norm.bias", .shape = {spec.out}, .initial = Initial::kZero});
    tensors.statistics = {{.name = "norm.running_mean", .features = spec.out, .initial = 0.0},
                          {.name = "norm.running_var", .features = spec.out, .initial = 1.0}};
  }
  return tensors;
}

}  // namespace gangway
