// SPDX-License-Identifier: MIT
// The penalties as their papers write them, by autograd through the whole network at once.
#pragma once

#include "gan/losses/penalty.hpp"

namespace gangway::gan {

/// A scalar with graph; see PenaltyKind for the equations.
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

}  // namespace gangway::gan
