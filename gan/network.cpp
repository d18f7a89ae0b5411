// SPDX-License-Identifier: MIT
#include "gan/network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.hpp"
#include "gan/kernels/own_operators.hpp"
#include "gan/precision.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

/// Returns positions [side * side, width], row by row: sines and cosines of x in the first half of
/// the features and of y in the second. Wavelengths go from 2 pi to 20,000 pi (Vaswani et al.,
/// 2017, section 3.5; in two directions, MAE, He et al., 2022).
at::Tensor square_positions(at::IntArrayRef shape) {
  at::Tensor positions = at::empty(shape, at::kFloat);
  auto* out = positions.mutable_data_ptr<float>();
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(shape[0]))));
  const std::int64_t quarter = (shape[1] + 3) / 4;
  for (std::int64_t i = 0; i < positions.numel(); ++i) {
    const std::int64_t place = i / shape[1];
    const std::int64_t feature = i % shape[1];
    const std::int64_t along = feature < 2 * quarter ? place % side : place / side;
    const double wave = static_cast<double>(feature % quarter) / static_cast<double>(quarter);
    const double angle = static_cast<double>(along) * std::pow(10'000.0, -wave);
    const bool is_sine = feature / quarter % 2 == 0;
    out[i] = static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle));
  }
  return positions;
}

/// Returns an orthogonal matrix of `shape[0]` rows (Saxe et al., 2014): rows, or columns if fewer,
/// are orthonormal. It is Q of the keyed normals' QR, with signs that make R's diagonal positive.
/// Double precision hides rounding differences of kernels.
at::Tensor orthogonal(const RandomKey& key, at::IntArrayRef shape) {
  const at::Tensor normals = keyed_normal(key, shape, at::kCPU).flatten(1).to(at::kDouble);
  const bool is_wide = normals.size(1) > normals.size(0);
  const auto [q, r] = at::linalg_qr(is_wide ? normals.t() : normals);
  const at::Tensor columns = q * r.diagonal().sign();
  return (is_wide ? columns.t() : columns).to(at::kFloat).reshape(shape);
}

/// Returns the initial value of `parameter`; random parts are keyed by `key`.
at::Tensor initial_value(const Parameter& parameter, const RandomKey& key) {
  const at::IntArrayRef shape = parameter.tensor.sizes();
  switch (parameter.initial) {
    case Initial::kZero:
      return at::zeros(shape, at::kFloat);
    case Initial::kConstant:
      return at::full(shape, parameter.initial_scale, at::kFloat);
    case Initial::kOrthogonal:
      return orthogonal(key, shape).mul_(parameter.initial_scale);
    case Initial::kPositions:
      return square_positions(shape);
    case Initial::kNormal:
    case Initial::kOnePlusNormal:
      break;
  }
  const double mean = parameter.initial == Initial::kOnePlusNormal ? 1.0 : 0.0;
  return keyed_normal(key, shape, at::kCPU).mul_(parameter.initial_scale).add_(mean);
}

at::DeviceType device_type_of(const NamedTensors& tensors) {
  return tensors.entries().empty() ? at::kCPU : tensors.entries().front().second.device().type();
}

}  // namespace

Network::Network(std::string name, std::vector<std::unique_ptr<Block>> blocks, std::string output,
                 NetworkId id, std::vector<std::string> levels)
    : name_(std::move(name)),
      blocks_(std::move(blocks)),
      output_(std::move(output)),
      levels_(std::move(levels)),
      id_(id) {
  std::vector<BlockPorts> ports;
  for (const std::unique_ptr<Block>& block : blocks_) {
    ports.push_back(block->ports());
  }
  if (levels_.empty()) {
    levels_ = {output_};
  }
  live_ = live_after(ports, levels_);
}

NamedTensors Network::forward_block(std::size_t index, const NamedTensors& in,
                                    ForwardContext context) {
  context.key.block = static_cast<std::int32_t>(index);
  context.growth = growth_;
  const Precision wanted = std::exchange(context.precision, precision_of(index, context.precision));
  const bool is_exception = context.precision != wanted;
  const ComputePrecision scope(context.precision, device_type_of(in));
  const OwnOperators own(Owned::kConvolutions);
  // The inputs of a float32 block may come from a block of lower precision.
  return blocks_[index]->forward(is_exception ? in.each(widened) : in, context).only(live_[index]);
}

at::Tensor Network::forward(NamedTensors in, const ForwardContext& context) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    in = forward_block(i, in, context);
  }
  return widened(in.at(output_));
}

std::vector<at::Tensor> Network::forward_levels(NamedTensors in, const ForwardContext& context) {
  return forward_chunk({0, static_cast<int>(blocks_.size())}, {}, std::move(in), context);
}

std::vector<at::Tensor> Network::forward_chunk(BlockRange blocks,
                                               const std::vector<std::string>& live,
                                               NamedTensors in, const ForwardContext& context) {
  for (auto i = static_cast<std::size_t>(blocks.begin); i < static_cast<std::size_t>(blocks.end);
       ++i) {
    in = forward_block(i, in, context);
  }
  std::vector<at::Tensor> made;
  for (const std::string& name : live) {
    made.push_back(in.has(name) ? in.at(name) : at::Tensor());
  }
  const bool is_last = blocks.end == static_cast<int>(blocks_.size());
  for (const std::string& level : is_last ? levels_ : std::vector<std::string>()) {
    made.push_back(widened(in.at(level)));
  }
  return made;
}

Precision Network::precision_of(std::size_t block, Precision wanted) const {
  const bool may_be =
      wanted == Precision::kFp16 || (wanted == Precision::kBf16 && is_fp32_beside_bf16_);
  const bool is_exception = may_be && std::ranges::find(fp32_blocks_, block) != fp32_blocks_.end();
  return is_exception ? Precision::kFp32 : wanted;
}

std::string Network::prefix_of(std::size_t block) const {
  return blocks_[block]->is_whole_network() ? name_ + "/"
                                            : name_ + "/" + std::to_string(block) + "/";
}

std::vector<Network::NamedParameter> Network::parameters() {
  std::vector<NamedParameter> result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (Parameter& parameter : blocks_[i]->parameters()) {
      result.push_back({prefix_of(i) + parameter.name, &parameter, i});
    }
  }
  return result;
}

std::vector<Network::NamedStatistic> Network::statistics() {
  std::vector<NamedStatistic> result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (Statistic& statistic : blocks_[i]->statistics()) {
      result.push_back({prefix_of(i) + statistic.name, &statistic, i});
    }
  }
  return result;
}

void Network::keep_mean(const std::string& name, double momentum) {
  blocks_.back()->statistics().push_back(
      {.name = name, .running = at::zeros({1}, at::kFloat), .momentum = momentum});
}

const Statistic& Network::kept_mean(const std::string& name) {
  for (const Statistic& statistic : blocks_.back()->statistics()) {
    if (statistic.name == name) {
      return statistic;
    }
  }
  throw InvariantError("network " + name_ + " keeps no mean " + name);
}

at::Device Network::device() { return parameters().front().parameter->tensor.device(); }

void Network::initialise(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::int32_t position = 0;
  for (const NamedParameter& named : parameters()) {
    Parameter& parameter = *named.parameter;
    const RandomKey key{.seed = seed,
                        .phase = kPhaseInitialisation,
                        .repeat = static_cast<std::int32_t>(id_),
                        .block = position++,
                        .draw = static_cast<std::int32_t>(RandomDraw::kWeight)};
    parameter.tensor.copy_(parameter.given.defined() ? parameter.given
                                                     : initial_value(parameter, key));
  }
  for (const NamedStatistic& named : statistics()) {
    Statistic& statistic = *named.statistic;
    if (statistic.given.defined()) {
      statistic.running.copy_(statistic.given);
    } else {
      statistic.running.fill_(statistic.initial);
    }
  }
}

}  // namespace gangway::gan
