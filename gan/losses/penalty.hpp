// SPDX-License-Identifier: MIT
// Gradient penalties, computed block by block in four sweeps, so that the sums come in one order
// wherever the network is cut into stages (one double backward through the whole network has other
// bits than one through its pieces: docs/numerics.md).
//
//   1. forward, first to last block:        y_i = f_i(x_i)
//   2. backward, last to first, with graph: g_i = (df_i/dx_i)^T g_{i+1}; g_last is all ones over
//   the logits, or keyed noise over the picture
//   3. forward again, through the g_i:      from dpenalty/dg_0 to dpenalty/dg_i, dpenalty/dx_i and
//   weight gradients
//   4. backward again, through the y_i:     the dpenalty/dx_i of all blocks flow back, the rest of
//   the weight gradients
//
// Where several blocks take a tensor (skips, styles made of the image), its g and its dpenalty/dx
// are sums over them, last block first. The gradient that is penalised is that to the first input,
// or to a tensor that a block makes of weights and still inputs: sweeps 2 and 3 then go no further
// forward than to what that block made, and sweep 4 goes through it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gan/network.hpp"

namespace gangway::gan {

enum class PenaltyKind {
  kR1,               ///< weight / 2 * mean |g|^2 on real images (Mescheder et al., 2018, eq. 9)
  kGradientPenalty,  ///< weight * mean (|g| - 1)^2 on interpolates (Gulrajani et al., 2017, eq. 3)
  /// weight * mean (|J^T y| - a)^2, where J^T y is the gradient of <picture, y> to the styles and y
  /// is normal noise over the root of the pixels (Karras et al., 2020, eq. 4). |.| is the root of
  /// the mean over a picture's styles of their squared norms. a is the moving mean of these lengths
  /// that the step began with, moved towards those of this micro-batch, and has a gradient (the
  /// authors' code).
  kPathLength,
};

/// "r1", "gradient_penalty", "path_length". @throws InvariantError for another name
[[nodiscard]] PenaltyKind penalty_named(std::string_view name);

class BlockwisePenalty {
 public:
  BlockwisePenalty(Network& network, PenaltyKind kind, double weight)
      : network_(network), kind_(kind), weight_(weight) {}

  /// Sweeps 1 and 2, in float32 whatever the context says, as 3 and 4. @param in  first the image
  /// [N, …] that the gradient is taken to, then what else the network takes; detached inside. For
  /// path lengths all of it is still.
  /// @param context  its sink is given the mean path length, and nothing that blocks see
  /// @throws InvariantError for path lengths of a network that makes no styles
  void forward(const NamedTensors& in, const ForwardContext& context);
  /// Sweeps 3 and 4: adds the penalty's gradients to the parameters' `.grad`. Returns the penalty
  /// (times weight): a scalar without a graph.
  /// @param on_block  called with a block's index once all of its gradients are complete and its
  /// weights are no longer needed; last block first
  /// @param loss_scale  what the gradients are multiplied by, and not the penalty that is returned
  /// @pre forward
  [[nodiscard]] at::Tensor backward(const std::function<void(std::size_t)>& on_block = {},
                                    double loss_scale = 1.0);

 private:
  using ByName = std::map<std::string, at::Tensor>;
  /// One block cut out of the network. What of its tensors depends on the image or on weights is
  /// named, is a leaf where it comes in, and has a graph from there where it goes out.
  struct Cut {
    std::vector<std::string> input_names;
    std::vector<std::string> output_names;
    std::vector<at::Tensor> inputs;  // first those that depend on the image, and so have a g
    std::size_t num_moving = 0;      // of these; where there are none, no output depends on it
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> output_cotangents;  // leaves: g of `outputs`
    std::vector<at::Tensor> input_cotangents;   // with graph: this block's part of g of the moving
    std::vector<at::Tensor> adjoints;           // this block's part of dpenalty/d `inputs`
  };

  /// @param last  g of the network's output
  void sweep_cotangents(const at::Tensor& last);
  [[nodiscard]] at::Tensor last_cotangent(const RandomKey& key) const;
  /// Of path lengths: remembers their moving mean, and gives what is new of it to `sink`.
  void measure(StatisticSink* sink);
  [[nodiscard]] at::Tensor path_length_penalty(const at::Tensor& gradient) const;
  /// @param incoming  dpenalty/dg of what is looked at
  void sweep_second_order(const at::Tensor& incoming);
  void sweep_adjoints(const std::function<void(std::size_t)>& on_block);
  [[nodiscard]] std::vector<at::Tensor> trained(std::size_t block) const;

  Network& network_;
  PenaltyKind kind_;
  double weight_;
  std::string looked_at_;
  at::Tensor gradient_;          // g of what is looked at, between forward and backward
  at::Tensor mean_path_length_;  // that the step began with: [1], as long; else undefined
  double path_length_momentum_ = 0.0;
  std::vector<Cut> cuts_;
};

}  // namespace gangway::gan
