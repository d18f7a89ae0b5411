// SPDX-License-Identifier: MIT
// Gradient penalties on the discriminator, computed block by block in four sweeps, so that the sums
// come in one order wherever the network is cut into stages (one double backward through the whole
// network has other bits than one through its pieces: docs/numerics.md).
//
//   1. forward, first to last block:        y_i = f_i(x_i)
//   2. backward, last to first, with graph: g_i = (df_i/dx_i)^T g_{i+1}; g_last is all ones over
//   the logits
//   3. forward again, through the g_i:      from dpenalty/dg_0 to dpenalty/dg_i, dpenalty/dx_i and
//   weight gradients
//   4. backward again, through the y_i:     the dpenalty/dx_i of all blocks flow back, the rest of
//   the weight gradients
#pragma once

#include <functional>

#include "gan/network.hpp"

namespace gangway::gan {

enum class PenaltyKind {
  kR1,               ///< weight / 2 * mean |g|^2 on real images (Mescheder et al., 2018, eq. 9)
  kGradientPenalty,  ///< weight * mean (|g| - 1)^2 on interpolates (Gulrajani et al., 2017, eq. 3)
};

class BlockwisePenalty {
 public:
  BlockwisePenalty(Network& discriminator, PenaltyKind kind, double weight)
      : network_(discriminator), kind_(kind), weight_(weight) {}

  /// Sweeps 1 and 2. @param in  "image" [N, …] and what else the discriminator takes; detached
  /// inside.
  void forward(const NamedTensors& in, const ForwardContext& context);
  /// Sweeps 3 and 4: adds the penalty's gradients to the parameters' `.grad`. Returns the penalty
  /// (times weight): a scalar without a graph.
  /// @param on_block  called with a block's index once all of its gradients are complete and its
  /// weights are no longer needed; last block first
  /// @pre forward
  [[nodiscard]] at::Tensor backward(const std::function<void(std::size_t)>& on_block = {});

 private:
  /// One block cut out of the network: its inputs and what the sweeps know of them.
  struct Cut {
    std::vector<at::Tensor>
        inputs;  // leaves that need a gradient: float tensors that depend on the image
    std::vector<at::Tensor>
        outputs;  // those of the next block's inputs that this block made, or the logits
    std::vector<at::Tensor> output_cotangents;  // leaves: g of `outputs`
    std::vector<at::Tensor> input_cotangents;   // with graph: g of `inputs`
    std::vector<at::Tensor> adjoints;           // after sweep 3: dpenalty/d inputs
  };

  void sweep_cotangents();
  [[nodiscard]] std::vector<at::Tensor> penalty_gradient(at::Tensor& value) const;
  void sweep_second_order(std::vector<at::Tensor> incoming);
  void sweep_adjoints(const std::function<void(std::size_t)>& on_block);
  [[nodiscard]] std::vector<at::Tensor> trained(std::size_t block) const;

  Network& network_;
  PenaltyKind kind_;
  double weight_;
  std::vector<Cut> cuts_;
};

}  // namespace gangway::gan
