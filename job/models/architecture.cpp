// SPDX-License-Identifier: MIT
#include "job/models/architecture.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

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

/// Deviation of weights that keep the variance of what they sum up, times `gain` (He et al., 2015).
double deviation(double gain, std::int64_t fan_in) {
  return gain / std::sqrt(static_cast<double>(fan_in));
}

/// Glorot and Bengio, 2010, eq. 16, times `gain`.
double balanced_deviation(double gain, std::int64_t in, std::int64_t out) {
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

/// "NAME.weight" [out, in] and "NAME.bias".
void add_linear(std::vector<ParameterSpec>& parameters, const std::string& name, std::int64_t in,
                std::int64_t out, double gain = 1.0) {
  parameters.push_back({.name = name + ".weight",
                        .shape = {out, in},
                        .initial_scale = balanced_deviation(gain, in, out)});
  parameters.push_back({.name = name + ".bias", .shape = {out}, .initial = Initial::kZero});
}

/// `features` weights that all begin as `value`.
void add_gain(std::vector<ParameterSpec>& parameters, const std::string& name,
              std::int64_t features, double value) {
  parameters.push_back(
      {.name = name, .shape = {features}, .initial = Initial::kConstant, .initial_scale = value});
}

/// What gates residual branches begins so small, so that many of them add up to little at first
/// (GAT's authors' code).
constexpr double kInitialGain = 0.1;

}  // namespace

BlockPorts ports_of(const LayerSpec& spec) { return {{spec.input}, {spec.output}}; }

BlockPorts ports_of(const LabelConcatenationSpec&) { return {{"noise", "labels"}, {"noise"}}; }

BlockPorts ports_of(const ProjectionHeadSpec&) { return {{"features", "labels"}, {"features"}}; }

BlockPorts ports_of(const LabelEmbeddingSpec&) { return {{"noise", "labels"}, {"noise"}}; }

BlockPorts ports_of(const LabelProductSpec&) { return {{"features", "labels"}, {"features"}}; }

BlockPorts ports_of(const ResidualSpec&) { return {{"features"}, {"features"}}; }

BlockPorts ports_of(const ResamplingSpec&) { return {{"features"}, {"features"}}; }

BlockPorts ports_of(const GenerativeBasisSpec&) { return {{"noise"}, {"features"}}; }

BlockPorts ports_of(const DiscriminativeBasisSpec&) { return {{"features"}, {"features"}}; }

BlockPorts ports_of(const ScriptSpec& spec) {
  BlockPorts ports{{}, {"features"}};
  for (const ScriptInput& input : spec.inputs) {
    ports.inputs.push_back(input.name);
  }
  return ports;
}

BlockPorts ports_of(const TokenStyleSpec& spec) {
  return spec.classes > 0 ? BlockPorts{{"noise", "labels"}, {"style"}}
                          : BlockPorts{{"noise"}, {"style"}};
}

BlockPorts ports_of(const TokenGridSpec&) { return {{"style"}, {"features"}}; }

BlockPorts ports_of(const TransformerSpec& spec) {
  return spec.style > 0 ? BlockPorts{{"features", "style"}, {"features"}}
                        : BlockPorts{{"features"}, {"features"}};
}

BlockPorts ports_of(const PatchPictureSpec& spec) {
  BlockPorts ports{{"features", "style"}, {spec.is_last ? "features" : "pictures"}};
  if (spec.depth > 0) {
    ports.inputs.emplace_back("pictures");
  }
  return ports;
}

BlockPorts ports_of(const PatchEmbeddingSpec&) { return {{"image"}, {"features"}}; }

BlockPorts ports_of(const TokenHeadSpec&) { return {{"features"}, {"features"}}; }

std::vector<std::vector<std::string>> live_behind(const std::vector<BlockPorts>& blocks,
                                                  const std::string& result) {
  std::vector<std::vector<std::string>> live(blocks.size());
  std::set<std::string> wanted{result};
  for (std::size_t i = blocks.size(); i-- > 0;) {
    live[i] = {wanted.begin(), wanted.end()};
    for (const std::string& output : blocks[i].outputs) {
      wanted.erase(output);
    }
    wanted.insert(blocks[i].inputs.begin(), blocks[i].inputs.end());
  }
  return live;
}

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

std::vector<ParameterSpec> parameters_of(const LabelEmbeddingSpec& spec) {
  return {{.name = "embedding",
           .shape = {spec.classes, spec.features},
           .initial_scale = deviation(1.0, spec.classes)}};
}

std::vector<ParameterSpec> parameters_of(const LabelProductSpec& spec) {
  return {{.name = "embedding",
           .shape = {spec.classes, spec.features},
           .initial_scale = deviation(1.0, spec.classes * spec.features)}};
}

std::vector<ParameterSpec> parameters_of(const ResidualSpec& spec) {
  const std::int64_t group = spec.expanded / spec.groups;
  return {{.name = "expand.weight",
           .shape = {spec.expanded, spec.channels, 1, 1},
           .initial_scale = deviation(spec.gain, spec.channels)},
          {.name = "expand.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
          {.name = "grouped.weight",
           .shape = {spec.expanded, group, 3, 3},
           .initial_scale = deviation(spec.gain, group * 9)},
          {.name = "grouped.bias", .shape = {spec.expanded}, .initial = Initial::kZero},
          {.name = "contract.weight",
           .shape = {spec.channels, spec.expanded, 1, 1},
           .initial = Initial::kZero}};
}

std::vector<ParameterSpec> parameters_of(const ResamplingSpec& spec) {
  if (spec.in == spec.out) {
    return {};
  }
  return {{.name = "weight",
           .shape = {spec.out, spec.in, 1, 1},
           .initial_scale = deviation(1.0, spec.in)}};
}

std::vector<ParameterSpec> parameters_of(const GenerativeBasisSpec& spec) {
  return {{.name = "basis", .shape = {spec.channels, kBasisSide, kBasisSide}, .initial_scale = 1.0},
          {.name = "weight",
           .shape = {spec.channels, spec.in},
           .initial_scale = deviation(1.0, spec.in)}};
}

std::vector<ParameterSpec> parameters_of(const DiscriminativeBasisSpec& spec) {
  return {{.name = "basis",
           .shape = {spec.channels, kBasisSide, kBasisSide},
           .initial_scale = deviation(1.0, kBasisSide * kBasisSide)},
          {.name = "weight",
           .shape = {spec.out, spec.channels},
           .initial_scale = deviation(1.0, spec.channels)}};
}

std::vector<ParameterSpec> parameters_of(const ScriptSpec&) { return {}; }
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

std::vector<ParameterSpec> parameters_of(const TokenGridSpec& spec) {
  return {{.name = "positions",
           .shape = {spec.side * spec.side, spec.width},
           .initial = Initial::kPositions}};
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

std::vector<ParameterSpec> parameters_of(const PatchPictureSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_linear(parameters, "style", spec.style, spec.width, kInitialGain);
  add_linear(parameters, "picture", spec.width, spec.channels * spec.patch * spec.patch);
  return parameters;
}

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

std::vector<ParameterSpec> parameters_of(const TokenHeadSpec& spec) {
  std::vector<ParameterSpec> parameters;
  add_gain(parameters, "before", spec.width, 1.0);
  add_linear(parameters, "head", spec.width, spec.out);
  return parameters;
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
  if (const ScriptSpec* script = script_in(network)) {
    count = script->num_parameters.value_or(0);
  }
  for (const BlockSpec& block : network.blocks) {
    for (const ParameterSpec& parameter :
         std::visit([](const auto& spec) { return parameters_of(spec); }, block)) {
      count += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                               std::multiplies<>());
    }
  }
  return count;
}

const ScriptSpec* script_in(const Architecture& network) {
  return network.blocks.empty() ? nullptr : std::get_if<ScriptSpec>(&network.blocks.front());
}

bool normalizes_dense_layers(const Architecture& network) {
  return std::any_of(network.blocks.begin(), network.blocks.end(), [](const BlockSpec& block) {
    const auto* layer = std::get_if<LayerSpec>(&block);
    return layer != nullptr && layer->kind == LayerKind::kLinear && layer->batch_norm;
  });
}

}  // namespace gangway
