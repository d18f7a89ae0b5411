// SPDX-License-Identifier: MIT
#include "gan/losses/penalty.hpp"

#include <cmath>
#include <utility>

#include "base/errors.hpp"
#include "gan/precision.hpp"
#include "gan/random_tensors.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {
namespace {

/// Floor under the gradient penalty's square root, whose derivative is infinite at 0.
constexpr double kNormFloor = 1e-12;

/// Returns lengths [N] of g [N, styles, features]; their root has the same floor.
at::Tensor path_lengths(const at::Tensor& gradient) {
  return (gradient.square().sum(2).mean(1) + kNormFloor).sqrt();
}

/// Returns the statistic of path lengths, held by the block that makes styles.
Statistic& path_length_of(Network& network) {
  for (const Network::NamedStatistic& named : network.statistics()) {
    if (named.statistic->name == kPathLength) {
      return *named.statistic;
    }
  }
  throw InvariantError("network " + network.name() + " makes no styles, so it has no path lengths");
}

PenaltyTensor looked_at(PenaltyKind kind) {
  return kind == PenaltyKind::kPathLength ? PenaltyTensor{.name = kStyles, .is_inside = true}
                                          : PenaltyTensor{.name = "image"};
}

}  // namespace

PenaltyKind penalty_named(std::string_view name) {
  if (name == "r1") {
    return PenaltyKind::kR1;
  }
  if (name == "gradient_penalty") {
    return PenaltyKind::kGradientPenalty;
  }
  if (name == "path_length") {
    return PenaltyKind::kPathLength;
  }
  throw InvariantError("no penalty is named " + std::string(name));
}

BlockwisePenalty::BlockwisePenalty(Network& network, PenaltyKind kind, double weight,
                                   std::optional<BlockRange> chunk)
    : network_(network),
      kind_(kind),
      weight_(weight),
      sweeps_(network, chunk.value_or(BlockRange{0, static_cast<int>(network.num_blocks())}),
              looked_at(kind)) {}

void BlockwisePenalty::forward(const NamedTensors& in, const ForwardContext& context) {
  if (kind_ == PenaltyKind::kPathLength) {
    (void)path_length_of(network_);
  }
  const NamedTensors made = sweeps_.forward(in, context);
  (void)measure(sweeps_.cotangents(last_cotangents(made, context.key)), context.sink);
}

BlockwisePenalty::ByName BlockwisePenalty::last_cotangents(const NamedTensors& made,
                                                           const RandomKey& key) const {
  const at::Tensor& output = made.at(network_.output());
  if (kind_ != PenaltyKind::kPathLength) {
    return {{network_.output(), at::ones_like(output)}};
  }
  RandomKey of_noise = key;
  of_noise.draw = static_cast<std::int32_t>(RandomDraw::kPathNoise);
  const auto pixels = static_cast<double>(output.size(2) * output.size(3));
  return {{network_.output(),
           (keyed_normal(of_noise, output.sizes(), output.device()) / std::sqrt(pixels))
               .to(output.scalar_type())}};
}

at::Tensor BlockwisePenalty::measure(const ByName& cotangents, StatisticSink* sink) {
  gradient_ = widened(cotangents.at(looked_at(kind_).name)).detach().requires_grad_(true);
  at::Tensor looked = gradient_;
  if (original_.defined()) {  // linear in the gradient because made_ is affine
    looked = torch::autograd::grad({made_}, {original_}, {gradient_}, /*retain_graph=*/true,
                                   /*create_graph=*/true)
                 .front();
  }
  const at::Tensor value = measured(looked, sink);
  const double weight = kind_ == PenaltyKind::kR1 ? weight_ / 2.0 : weight_;
  penalty_ =
      factor_.defined() ? value * (factor_ * weight).to(value.scalar_type()) : value * weight;
  return penalty_.detach();
}

at::Tensor BlockwisePenalty::measured(const at::Tensor& gradient, StatisticSink* sink) {
  if (kind_ == PenaltyKind::kPathLength) {
    return path_length_penalty(gradient, sink);
  }
  const at::Tensor squared_norms = gradient.flatten(1).square().sum(1);
  return kind_ == PenaltyKind::kR1 ? squared_norms.mean()
                                   : ((squared_norms + kNormFloor).sqrt() - 1.0).square().mean();
}

BlockwisePenalty::ByName BlockwisePenalty::pulled(double loss_scale) {
  const at::Tensor penalty = std::exchange(penalty_, {});
  const at::Tensor gradient = std::exchange(gradient_, {});
  return {
      {looked_at(kind_).name,
       torch::autograd::grad({penalty}, {gradient}, {at::full_like(penalty, loss_scale)}).front()}};
}

at::Tensor BlockwisePenalty::backward(const std::function<void(std::size_t)>& on_block,
                                      double loss_scale) {
  const at::Tensor penalty = penalty_.detach();
  (void)sweeps_.second_order(pulled(loss_scale));
  (void)sweeps_.adjoints({}, on_block);
  return penalty;
}

at::Tensor BlockwisePenalty::path_length_penalty(const at::Tensor& gradient, StatisticSink* sink) {
  const Statistic& statistic = path_length_of(network_);
  const at::Tensor lengths = path_lengths(gradient);
  const at::Tensor begin = statistic.running.to(gradient.scalar_type(), /*non_blocking=*/false,
                                                /*copy=*/true);
  if (sink != nullptr) {
    sink->take(statistic, lengths.detach().mean().reshape({1}).to(statistic.running.scalar_type()));
  }
  const at::Tensor mean = begin + (lengths.mean() - begin) * statistic.momentum;
  return (lengths - mean).square().mean();
}

}  // namespace gangway::gan
