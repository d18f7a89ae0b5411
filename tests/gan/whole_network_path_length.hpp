// SPDX-License-Identifier: MIT
// Path length regularisation after its paper (Karras et al., 2020, eq. 4), by autograd through the
// whole network.
#pragma once

#include "gan/network.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {

struct WholePathLength {
  at::Tensor penalty;      ///< with graph
  at::Tensor mean_length;  ///< without graph
};

/// @param mean  the moving mean before @pre block 0 makes the styles
[[nodiscard]] inline WholePathLength whole_network_path_length(Network& generator, double weight,
                                                               double mean, NamedTensors tensors,
                                                               const ForwardContext& context) {
  tensors = generator.forward_block(0, tensors, context);
  const at::Tensor styles = tensors.at("styles");
  for (std::size_t i = 1; i < generator.num_blocks(); ++i) {
    tensors = generator.forward_block(i, tensors, context);
  }
  const at::Tensor picture = tensors.at("features");
  RandomKey key = context.key;
  key.draw = static_cast<std::int32_t>(RandomDraw::kPathNoise);
  const at::Tensor noise =
      keyed_normal(key, picture.sizes(), at::kCPU).to(picture.scalar_type()) /
      static_cast<double>(picture.size(2));  // the root of the pixels of a square
  const at::Tensor gradient =
      torch::autograd::grad({(picture * noise).sum()}, {styles}, {}, true, /*create_graph=*/true)
          .front();
  constexpr double kFloor = 1e-12;  // the root's derivative is infinite at 0
  const at::Tensor lengths = (gradient.square().sum(2).mean(1) + kFloor).sqrt();
  const at::Tensor moved = lengths.mean() * 0.01 + 0.99 * mean;
  return {weight * (lengths - moved).square().mean(), lengths.mean().detach()};
}

}  // namespace gangway::gan
