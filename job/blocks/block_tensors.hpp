// SPDX-License-Identifier: MIT
// What a block says of itself: the tensors that it takes and makes, trains and averages. Pure.
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
  kOrthogonal,  ///< rows or columns of length `initial_scale`, at right angles
  kPositions,   ///< of [side * side, width]: sines and cosines of the places in a square
};

/// A tensor to be trained.
struct ParameterSpec {
  std::string name;  ///< within the block: "weight", "norm.bias"
  std::vector<std::int64_t> shape;
  Initial initial = Initial::kNormal;
  /// Standard deviation (DCGAN, Radford et al., 2015, section 4), or the value of kConstant.
  double initial_scale = 0.02;
};

/// Weight of the newest micro-batches in a running value (Ioffe and Szegedy, 2015; PyTorch's
/// default).
inline constexpr double kStatisticMomentum = 0.1;

/// A value averaged over micro-batches instead of trained.
struct StatisticSpec {
  std::string name;
  std::int64_t features = 1;
  double initial = 0.0;
  double momentum = kStatisticMomentum;  ///< 1: the newest micro-batches' mean
};

/// Names of the tensors that a block takes, and of those that it makes. What no later block takes
/// ends with it.
struct BlockPorts {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// By block, what flows out of it: the tensors that later blocks take and `results`, which go on
/// from the blocks that make them; so what has to travel where a network is cut behind it.
[[nodiscard]] std::vector<std::vector<std::string>> live_behind(
    const std::vector<BlockPorts>& blocks, const std::vector<std::string>& results);
/// Of a network with one, which the last block makes.
[[nodiscard]] std::vector<std::vector<std::string>> live_behind(
    const std::vector<BlockPorts>& blocks, const std::string& result);

}  // namespace gangway
