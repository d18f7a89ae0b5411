// SPDX-License-Identifier: MIT
// Tensors that a block takes, makes, trains and averages, as values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

/// Kinds of initial values.
enum class Initial {
  kZero,
  kNormal,
  kOnePlusNormal,
  kConstant,    ///< `initial_scale` itself
  kOrthogonal,  ///< orthogonal rows or columns of length `initial_scale`
  kPositions,   ///< of [side * side, width]: sines and cosines of the positions in a square
};

/// A trained tensor.
struct ParameterSpec {
  std::string name;  ///< within the block: "weight", "norm.bias"
  std::vector<std::int64_t> shape;
  Initial initial = Initial::kNormal;
  /// Standard deviation (DCGAN, Radford et al., 2015, section 4), or the value of kConstant.
  double initial_scale = 0.02;
};

/// Weight of the newest micro-batches in a running statistic (Ioffe and Szegedy, 2015; PyTorch's
/// default).
inline constexpr double kStatisticMomentum = 0.1;

/// A value averaged over micro-batches instead of trained.
struct StatisticSpec {
  std::string name;
  std::int64_t features = 1;
  double initial = 0.0;
  double momentum = kStatisticMomentum;  ///< 1: the newest micro-batches' mean
};

/// Names of the tensors that a block takes and makes. A tensor that no later block takes ends
/// there.
struct BlockPorts {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// All tensors of a block. Each spec of a block has a function `BlockTensors tensors_of(spec)`.
struct BlockTensors {
  BlockPorts ports = {};
  std::vector<ParameterSpec> parameters = {};
  std::vector<StatisticSpec> statistics = {};
};

[[nodiscard]] BlockPorts ports_of(const auto& spec) { return tensors_of(spec).ports; }
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const auto& spec) {
  return tensors_of(spec).parameters;
}
[[nodiscard]] std::vector<StatisticSpec> statistics_of(const auto& spec) {
  return tensors_of(spec).statistics;
}

/// Returns, by block, the tensors alive behind it: inputs of later blocks, and `results` once made.
/// Workers send these tensors if the network is cut behind the block.
[[nodiscard]] std::vector<std::vector<std::string>> live_after(
    const std::vector<BlockPorts>& blocks, const std::vector<std::string>& results);
/// Same, for a network with one result, which the last block makes.
[[nodiscard]] std::vector<std::vector<std::string>> live_after(
    const std::vector<BlockPorts>& blocks, const std::string& result);

}  // namespace gangway
