// SPDX-License-Identifier: MIT
#include "job/blocks/spectral_specs.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace gangway {
namespace {

constexpr std::string_view kWeight = ".weight";

/// Adds "NAME.weight", a map, and optionally "NAME.bias".
enum class Bias { kNo, kYes };
void add_map(std::vector<ParameterSpec>& parameters, const std::string& name,
             std::vector<std::int64_t> shape, Bias bias) {
  const std::int64_t out = shape.front();
  parameters.push_back({.name = name + ".weight",
                        .shape = std::move(shape),
                        .initial = Initial::kOrthogonal,
                        .initial_scale = 1.0});
  if (bias == Bias::kYes) {
    parameters.push_back({.name = name + ".bias", .shape = {out}, .initial = Initial::kZero});
  }
}

/// Input of BatchNorm beside the features: a style with `features` elements, or a label of
/// `classes`.
struct Condition {
  std::int64_t features = 0;
  std::int64_t classes = 0;
};

/// Adds gains and shifts of BatchNorm "NAME": maps of a style, embeddings of a label, or weights.
void add_norm(std::vector<ParameterSpec>& parameters, const std::string& name,
              std::int64_t channels, const Condition& told) {
  if (told.classes > 0) {
    parameters.push_back({.name = name + "_gain.embedding", .shape = {told.classes, channels}});
    parameters.push_back({.name = name + "_shift.embedding", .shape = {told.classes, channels}});
    return;
  }
  if (const std::int64_t condition = told.features; condition > 0) {
    add_map(parameters, name + "_gain", {channels, condition}, Bias::kNo);
    add_map(parameters, name + "_shift", {channels, condition}, Bias::kNo);
    return;
  }
  parameters.push_back({.name = name + ".weight",
                        .shape = {channels},
                        .initial = Initial::kConstant,
                        .initial_scale = 1.0});
  parameters.push_back({.name = name + ".bias", .shape = {channels}, .initial = Initial::kZero});
}

void add_running(std::vector<StatisticSpec>& statistics, const std::string& name,
                 std::int64_t channels) {
  statistics.push_back({.name = name + ".running_mean", .features = channels, .initial = 0.0});
  statistics.push_back({.name = name + ".running_var", .features = channels, .initial = 1.0});
}

/// Returns "MAP.direction" for each map: at first equal elements, of length one.
std::vector<StatisticSpec> directions_of(const std::vector<ParameterSpec>& parameters) {
  std::vector<StatisticSpec> statistics;
  for (const ParameterSpec& parameter : parameters) {
    if (parameter.initial == Initial::kOrthogonal) {
      const std::string map = parameter.name.substr(0, parameter.name.size() - kWeight.size());
      const std::int64_t out = parameter.shape.front();
      statistics.push_back({.name = map + ".direction",
                            .features = out,
                            .initial = 1.0 / std::sqrt(static_cast<double>(out)),
                            .momentum = 1.0});
    }
  }
  return statistics;
}

bool has_shortcut(const SpectralDownSpec& spec) { return spec.halves || spec.in != spec.out; }

}  // namespace

BlockTensors tensors_of(const SpectralStemSpec& spec) {
  BlockTensors tensors{.ports = {{"noise"}, {"features"}}};
  add_map(tensors.parameters, "linear", {spec.channels * kStemSide * kStemSide, spec.taken},
          Bias::kYes);
  tensors.statistics = directions_of(tensors.parameters);
  return tensors;
}

BlockTensors tensors_of(const SharedEmbeddingSpec& spec) {
  return {.ports = {{"labels"}, {"style"}},
          .parameters = {{.name = "embedding",
                          .shape = {spec.classes, spec.features},
                          .initial = Initial::kOrthogonal,
                          .initial_scale = 1.0}}};
}

BlockTensors tensors_of(const SpectralUpSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  if (spec.style > 0) {
    tensors.ports.inputs.emplace_back("style");
  }
  if (spec.taken > 0) {
    tensors.ports.inputs.emplace_back("noise");
  }
  if (spec.classes > 0) {
    tensors.ports.inputs.emplace_back("labels");
  }
  const Condition condition{.features = spec.style > 0 ? spec.style + spec.taken : 0,
                            .classes = spec.classes};
  add_norm(tensors.parameters, "first_norm", spec.in, condition);
  add_map(tensors.parameters, "first", {spec.out, spec.in, 3, 3}, Bias::kYes);
  add_norm(tensors.parameters, "second_norm", spec.out, condition);
  add_map(tensors.parameters, "second", {spec.out, spec.out, 3, 3}, Bias::kYes);
  add_map(tensors.parameters, "shortcut", {spec.out, spec.in, 1, 1}, Bias::kYes);
  tensors.statistics = directions_of(tensors.parameters);
  add_running(tensors.statistics, "first_norm", spec.in);
  add_running(tensors.statistics, "second_norm", spec.out);
  return tensors;
}

BlockTensors tensors_of(const SpectralPictureSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  add_norm(tensors.parameters, "norm", spec.in, {});
  add_map(tensors.parameters, "picture", {spec.channels, spec.in, 3, 3}, Bias::kYes);
  tensors.statistics = directions_of(tensors.parameters);
  add_running(tensors.statistics, "norm", spec.in);
  return tensors;
}

BlockTensors tensors_of(const SpectralDownSpec& spec) {
  BlockTensors tensors{.ports = {{spec.is_first ? "image" : "features"}, {"features"}}};
  add_map(tensors.parameters, "first", {spec.out, spec.in, 3, 3}, Bias::kYes);
  add_map(tensors.parameters, "second", {spec.out, spec.out, 3, 3}, Bias::kYes);
  if (has_shortcut(spec)) {
    add_map(tensors.parameters, "shortcut", {spec.out, spec.in, 1, 1}, Bias::kYes);
  }
  tensors.statistics = directions_of(tensors.parameters);
  return tensors;
}

BlockTensors tensors_of(const SpectralAttentionSpec& spec) {
  BlockTensors tensors{.ports = {{"features"}, {"features"}}};
  const std::int64_t asked = std::max(std::int64_t{1}, spec.channels / 8);
  const std::int64_t told = std::max(std::int64_t{1}, spec.channels / 2);
  add_map(tensors.parameters, "query", {asked, spec.channels, 1, 1}, Bias::kNo);
  add_map(tensors.parameters, "key", {asked, spec.channels, 1, 1}, Bias::kNo);
  add_map(tensors.parameters, "value", {told, spec.channels, 1, 1}, Bias::kNo);
  add_map(tensors.parameters, "joined", {spec.channels, told, 1, 1}, Bias::kNo);
  tensors.parameters.push_back({.name = "gain", .shape = {1}, .initial = Initial::kZero});
  tensors.statistics = directions_of(tensors.parameters);
  return tensors;
}

BlockTensors tensors_of(const SpectralHeadSpec& spec) {
  BlockTensors tensors{.ports = spec.classes > 0 ? BlockPorts{{"features", "labels"}, {"features"}}
                                                 : BlockPorts{{"features"}, {"features"}}};
  add_map(tensors.parameters, "linear", {1, spec.features}, Bias::kYes);
  if (spec.classes > 0) {
    add_map(tensors.parameters, "embedding", {spec.classes, spec.features}, Bias::kNo);
  }
  tensors.statistics = directions_of(tensors.parameters);
  return tensors;
}

}  // namespace gangway
