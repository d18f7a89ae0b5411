// SPDX-License-Identifier: MIT
// Penalties after their papers, by autograd through the whole network, for comparison with those
// computed block by block.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "gan/losses/penalty.hpp"

namespace gangway::gan {

/// Returns a scalar with graph; PenaltyKind has the equations.
[[nodiscard]] inline at::Tensor whole_network_penalty(Network& discriminator, PenaltyKind kind,
                                                      double weight, const NamedTensors& in,
                                                      const ForwardContext& context) {
  const at::Tensor image = in.at("image").detach().requires_grad_(true);
  const at::Tensor logits = discriminator.forward(in.with("image", image.view_as(image)), context);
  const at::Tensor gradient =
      torch::autograd::grad({logits.sum()}, {image}, {}, true, /*create_graph=*/true).front();
  const at::Tensor squared_norms = gradient.flatten(1).square().sum(1);
  if (kind == PenaltyKind::kR1) {
    return squared_norms.mean() * (weight / 2.0);
  }
  constexpr double kFloor = 1e-12;  // the root's derivative is infinite at 0
  return ((squared_norms + kFloor).sqrt() - 1.0).square().mean() * weight;
}

/// Converts the weights to float64, whose rounding errors are far below 1e-12.
inline void make_double(Network& network, at::MemoryFormat format = at::MemoryFormat::Contiguous) {
  for (const Network::NamedParameter& named : network.parameters()) {
    const at::Tensor value = named.parameter->tensor.detach().to(at::kDouble);
    named.parameter->tensor.set_data(value.dim() == 4 ? value.contiguous(format) : value);
  }
}

/// Moves the gradients out of the network; zeros where a parameter has none.
[[nodiscard]] inline std::vector<at::Tensor> taken_gradients(Network& network) {
  std::vector<at::Tensor> gradients;
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& gradient = named.parameter->tensor.mutable_grad();
    gradients.push_back(gradient.defined() ? gradient.clone()
                                           : at::zeros_like(named.parameter->tensor));
    gradient.reset();
  }
  return gradients;
}

/// Compares float64 gradients: each tensor to 1e-12 of its largest value.
inline void expect_same_gradients(Network& network, const std::vector<at::Tensor>& found,
                                  const std::vector<at::Tensor>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double scale = expected[i].abs().max().item<double>();
    const double apart = (found[i] - expected[i]).abs().max().item<double>();
    EXPECT_LE(apart, 1e-12 * scale) << network.parameters()[i].name;
  }
}

/// Expects equal penalty and gradients of the sweeps over blocks and of the whole network.
/// @pre weights and images are float64
inline void expect_penalty_of_whole_network(Network& network, PenaltyKind kind,
                                            const NamedTensors& in,
                                            const ForwardContext& context = {}) {
  const at::Tensor penalty = whole_network_penalty(network, kind, 3.0, in, context);
  torch::autograd::backward({penalty}, {});
  const std::vector<at::Tensor> whole = taken_gradients(network);
  BlockwisePenalty sweeps(network, kind, 3.0);
  sweeps.forward(in, context);
  const double value = sweeps.backward().item<double>();
  EXPECT_GT(value, 0.0);
  EXPECT_NEAR(value, penalty.item<double>(), 1e-12 * value);
  expect_same_gradients(network, taken_gradients(network), whole);
}

}  // namespace gangway::gan
