// SPDX-License-Identifier: MIT
// Gradient penalties, computed block by block in four sweeps (gan/losses/block_sweeps.hpp). Sums
// then have one order for every cut into stages; one double backward through the whole network
// would have other bits (docs/numerics.md).
//
// The second sweep starts with ones over the logits, or with keyed noise over the picture. The
// penalised gradient is that by the first input, or by a tensor that a block makes of weights and
// still inputs. In the latter case sweeps 2 and 3 stop at that block's output, and sweep 4
// continues through the block.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gan/losses/block_sweeps.hpp"
#include "gan/network.hpp"

namespace gangway::gan {

enum class PenaltyKind {
  kR1,               ///< weight / 2 * mean |g|^2 on real images (Mescheder et al., 2018, eq. 9)
  kGradientPenalty,  ///< weight * mean (|g| - 1)^2 on interpolates (Gulrajani et al., 2017, eq. 3)
  /// weight * mean (|J^T y| - a)^2; J^T y is the gradient of <picture, y> by the styles, and y
  /// normal noise over the root of the pixels (Karras et al., 2020, eq. 4). |.| is the root of the
  /// mean of squared norms over a picture's styles. a is the moving mean of these lengths at the
  /// start of the step, moved towards this micro-batch's; it has a gradient (the authors' code).
  kPathLength,
};

/// "r1", "gradient_penalty", "path_length". @throws InvariantError for another name
[[nodiscard]] PenaltyKind penalty_named(std::string_view name);

class BlockwisePenalty {
 public:
  using ByName = BlockSweeps::ByName;

  /// Borrows the network. @param chunk  blocks that this process computes; nothing: all
  BlockwisePenalty(Network& network, PenaltyKind kind, double weight,
                   std::optional<BlockRange> chunk = {});

  /// Runs sweeps 1 and 2. @param in  first the image [N, …] of the gradient, then the other inputs;
  /// detached inside. For path lengths no input has a gradient.
  /// @param context  its precision is that of all sweeps, but norms and the penalty are in float32;
  /// its sink receives only the mean path length, no statistics of blocks
  /// @throws InvariantError for path lengths of a network without styles
  void forward(const NamedTensors& in, const ForwardContext& context);
  /// Runs sweeps 3 and 4, which add the penalty's gradients to the parameters' `.grad`. Returns the
  /// penalty (times weight): a scalar without a graph.
  /// @param on_block  called with a block's index, last block first, when its gradients are
  /// complete and its weights no longer needed
  /// @param loss_scale  factor of the gradients, not of the returned penalty
  /// @pre forward
  [[nodiscard]] at::Tensor backward(const std::function<void(std::size_t)>& on_block = {},
                                    double loss_scale = 1.0);

  /// Penalises the gradient by `original` instead, from which the first input was made.
  /// @param made  that input [N, …], an affine function of `original`, with its graph
  void look_through(at::Tensor original, at::Tensor made) {
    original_ = std::move(original);
    made_ = std::move(made);
  }

  /// Multiplies the weight by `factor`: float64 [] on the network's device. Its value is read when
  /// the penalty is computed, not at this call.
  void scale_by(at::Tensor factor) { factor_ = std::move(factor); }

  /// Returns the sweeps through this chunk, for networks that are cut. Between chunks, tensors are
  /// passed by their names in the network.
  [[nodiscard]] BlockSweeps& sweeps() { return sweeps_; }
  /// Returns the start of sweep 2, in the last chunk. @param made  results of sweep 1
  [[nodiscard]] ByName last_cotangents(const NamedTensors& made, const RandomKey& key) const;
  /// Returns the penalty, in the chunk of the penalised tensor. @param cotangents  results of sweep
  /// 2
  /// @param sink  receives the mean path length; null: dropped
  [[nodiscard]] at::Tensor measure(const ByName& cotangents, StatisticSink* sink);
  /// Returns the start of sweep 3. @pre measure
  [[nodiscard]] ByName pulled(double loss_scale);

 private:
  /// Computes the path length penalty and gives the new moving mean to `sink`.
  [[nodiscard]] at::Tensor path_length_penalty(const at::Tensor& gradient, StatisticSink* sink);
  /// Returns the penalty of `gradient` without its weight.
  [[nodiscard]] at::Tensor measured(const at::Tensor& gradient, StatisticSink* sink);

  Network& network_;
  PenaltyKind kind_;
  double weight_;
  at::Tensor factor_;  // undefined: 1
  BlockSweeps sweeps_;
  at::Tensor original_;  // undefined: the first input is penalised
  at::Tensor made_;
  at::Tensor gradient_;  // g of the penalised tensor: a leaf, from measure to pulled
  at::Tensor penalty_;   // with its graph from gradient_
};

}  // namespace gangway::gan
