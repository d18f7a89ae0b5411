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

BlockPorts ports_of(const TokenStyleSpec& spec) {
  return spec.classes > 0 ? BlockPorts{{"noise", "labels"}, {"style"}}
                          : BlockPorts{{"noise"}, {"style"}};
}

std::vector<ParameterSpec> parameters_of(const TokenStyleSpec& spec) {
  std::vector<ParameterSpec> parameters;
  std::int64_t in = spec.latent;
  if (spec.classes > 0) {
    parameters.push_back({.name = "embedding", .shape = {spec.classes, spec.latent}});
    in *= 2;
  }
  add_linear(parameters, "first", in, spec.features, 1.0 / kStyleRate);
  add_linear(parameters, "second", spec.features, spec.features, 1.0 / kStyleRate);
  return parameters;
}

BlockPorts ports_of(const TokenGridSpec&) { return {{"style"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const TokenGridSpec& spec) {
  return {{.name = "positions",
           .shape = {spec.side * spec.side, spec.width},
           .initial = Initial::kPositions}};
}

BlockPorts ports_of(const TransformerSpec& spec) {
  return spec.style > 0 ? BlockPorts{{"features", "style"}, {"features"}}
                        : BlockPorts{{"features"}, {"features"}};
}

std::vector<ParameterSpec> parameters_of(const TransformerSpec& spec) {
  std::vector<ParameterSpec> parameters;
  if (spec.style > 0) {
    add_linear(parameters, "style", spec.style, 4 * spec.width, kInitialGain);
  } else {
    add_gain(parameters, "attention.before", spec.width, 1.0);
    add_gain(parameters, "attention.behind", spec.width, kInitialGain);
    add_gain(parameters, "mlp.before", spec.width, 1.0);
    add_gain(parameters, "mlp.behind", spec.width, kInitialGain);
  }
  add_linear(parameters, "taken", spec.width, 3 * spec.width);
  add_gain(parameters, "query.gain", spec.width / spec.heads, 1.0);
  add_gain(parameters, "key.gain", spec.width / spec.heads, 1.0);
  add_linear(parameters, "joined", spec.width, spec.width);
  add_linear(parameters, "expand", spec.width, 2 * spec.hidden);
  add_linear(parameters, "contract", spec.hidden, spec.width);
  return parameters;
}

BlockPorts ports_of(const PatchPictureSpec& spec) {
  BlockPorts ports{{"features", "style"}, {spec.is_last ? "features" : "pictures"}};
  if (spec.depth > 0) {
    ports.inputs.emplace_back("pictures");
  }
  return ports;
}

std::vector<ParameterSpec> parameters_of(const PatchPictureSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_linear(parameters, "style", spec.style, spec.width, kInitialGain);
  add_linear(parameters, "picture", spec.width, spec.channels * spec.patch * spec.patch);
  return parameters;
}

BlockPorts ports_of(const PatchEmbeddingSpec&) { return {{"image"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const PatchEmbeddingSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_linear(parameters, "patch", spec.depths * spec.channels * spec.patch * spec.patch,
             spec.width);
  parameters.push_back({.name = "positions",
                        .shape = {spec.side * spec.side, spec.width},
                        .initial = Initial::kPositions});
  parameters.push_back({.name = "token", .shape = {1, spec.width}});
  return parameters;
}

BlockPorts ports_of(const TokenHeadSpec&) { return {{"features"}, {"features"}}; }

std::vector<ParameterSpec> parameters_of(const TokenHeadSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_gain(parameters, "before", spec.width, 1.0);
  add_linear(parameters, "head", spec.width, spec.out);
  return parameters;
}

}  // namespace gangway
