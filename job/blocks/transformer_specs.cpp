// SPDX-License-Identifier: MIT
#include "job/blocks/transformer_specs.hpp"

#include "job/blocks/initial_deviation.hpp"

namespace gangway {
namespace {

/// Adds "NAME.weight" [out, in] and "NAME.bias".
void add_linear(std::vector<ParameterSpec>& parameters, const std::string& name, std::int64_t in,
                std::int64_t out, double gain = 1.0) {
  parameters.push_back({.name = name + ".weight",
                        .shape = {out, in},
                        .initial_scale = balanced_deviation(gain, in, out)});
  parameters.push_back({.name = name + ".bias", .shape = {out}, .initial = Initial::kZero});
}

/// Adds `features` weights that all begin as `value`.
void add_gain(std::vector<ParameterSpec>& parameters, const std::string& name,
              std::int64_t features, double value) {
  parameters.push_back(
      {.name = name, .shape = {features}, .initial = Initial::kConstant, .initial_scale = value});
}

/// Gates of residual branches begin this small, so that many branches sum to little at first (GAT's
/// authors' code).
constexpr double kInitialGain = 0.1;

}  // namespace

BlockTensors tensors_of(const TokenStyleSpec& spec) {
  BlockTensors tensors{.ports = spec.classes > 0 ? BlockPorts{{"noise", "labels"}, {"style"}}
                                                 : BlockPorts{{"noise"}, {"style"}}};
  std::int64_t in = spec.latent;
  if (spec.classes > 0) {
    tensors.parameters.push_back({.name = "embedding", .shape = {spec.classes, spec.latent}});
    in *= 2;
  }
  add_linear(tensors.parameters, "first", in, spec.features, 1.0 / kStyleRate);
  add_linear(tensors.parameters, "second", spec.features, spec.features, 1.0 / kStyleRate);
  return tensors;
}

BlockTensors tensors_of(const TokenGridSpec& spec) {
  return {.ports = {{"style"}, {"features"}},
          .parameters = {{.name = "positions",
                          .shape = {spec.side * spec.side, spec.width},
                          .initial = Initial::kPositions}}};
}

BlockTensors tensors_of(const TransformerSpec& spec) {
  BlockTensors tensors{.ports = spec.style > 0 ? BlockPorts{{"features", "style"}, {"features"}}
                                               : BlockPorts{{"features"}, {"features"}}};
  if (spec.style > 0) {
    add_linear(tensors.parameters, "style", spec.style, 4 * spec.width, kInitialGain);
  } else {
    add_gain(tensors.parameters, "attention.before", spec.width, 1.0);
    add_gain(tensors.parameters, "attention.behind", spec.width, kInitialGain);
    add_gain(tensors.parameters, "mlp.before", spec.width, 1.0);
    add_gain(tensors.parameters, "mlp.behind", spec.width, kInitialGain);
  }
  add_linear(tensors.parameters, "taken", spec.width, 3 * spec.width);
  add_gain(tensors.parameters, "query.gain", spec.width / spec.heads, 1.0);
  add_gain(tensors.parameters, "key.gain", spec.width / spec.heads, 1.0);
  add_linear(tensors.parameters, "joined", spec.width, spec.width);
  add_linear(tensors.parameters, "expand", spec.width, 2 * spec.hidden);
  add_linear(tensors.parameters, "contract", spec.hidden, spec.width);
  return tensors;
}

BlockTensors tensors_of(const PatchPictureSpec& spec) {
  BlockTensors tensors{.ports = {{"features", "style"}, {spec.is_last ? "features" : "pictures"}}};
  if (spec.depth > 0) {
    tensors.ports.inputs.emplace_back("pictures");
  }
  add_linear(tensors.parameters, "style", spec.style, spec.width, kInitialGain);
  add_linear(tensors.parameters, "picture", spec.width, spec.channels * spec.patch * spec.patch);
  return tensors;
}

BlockTensors tensors_of(const PatchEmbeddingSpec& spec) {
  BlockTensors tensors{.ports = {{"image"}, {"features"}}};
  add_linear(tensors.parameters, "patch", spec.depths * spec.channels * spec.patch * spec.patch,
             spec.width);
  tensors.parameters.push_back({.name = "positions",
                                .shape = {spec.side * spec.side, spec.width},
                                .initial = Initial::kPositions});
  tensors.parameters.push_back({.name = "token", .shape = {1, spec.width}});
  return tensors;
}

BlockTensors tensors_of(const TokenHeadSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  add_gain(tensors.parameters, "before", spec.width, 1.0);
  add_linear(tensors.parameters, "head", spec.width, spec.out);
  return tensors;
}

}  // namespace gangway
