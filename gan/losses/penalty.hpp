// SPDX-License-Identifier: MIT
// Gradient penalties, computed block by block in four sweeps (gan/losses/block_sweeps.hpp), so that
// the sums come in one order wherever the network is cut into stages (one double backward through
// the whole network has other bits than one through its pieces: docs/numerics.md).
//
// The second sweep begins with all ones over the logits, or keyed noise over the picture. The
// gradient that is penalised is that to the first input, or to a tensor that a block makes of
// weights and still inputs: sweeps 2 and 3 then go no further forward than to what that block made,
// and sweep 4 goes through it.
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
  using ByName = BlockSweeps::ByName;

  /// Borrows the network. @param chunk  the blocks that are carried out here; nothing: all
  BlockwisePenalty(Network& network, PenaltyKind kind, double weight,
                   std::optional<BlockRange> chunk = {});

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

  /// From now on the gradient that is penalised is that to `original`, of which the first input was
  /// made. @param made  that input [N, …], an affine function of `original`, with its graph
  void look_through(at::Tensor original, at::Tensor made) {
    original_ = std::move(original);
    made_ = std::move(made);
  }

  /// From now on the weight is multiplied by `factor`: float64 [], where the network is, whose
  /// value counts when the penalty is computed, and not when that is asked for.
  void scale_by(at::Tensor factor) { factor_ = std::move(factor); }

  /// Of a network that is cut, the same in pieces: the sweeps through this chunk, as far as it has
  /// them. Between them tensors go from chunk to chunk by their names in the network.
  [[nodiscard]] BlockSweeps& sweeps() { return sweeps_; }
  /// What sweep 2 begins with, in the last chunk. @param made  by sweep 1
  [[nodiscard]] ByName last_cotangents(const NamedTensors& made, const RandomKey& key) const;
  /// The penalty, in the chunk that has what is looked at. @param cotangents  sweep 2 has come to
  /// @param sink  is given the mean path length; null: it is not wanted
  [[nodiscard]] at::Tensor measure(const ByName& cotangents, StatisticSink* sink);
  /// What sweep 3 begins with. @pre measure
  [[nodiscard]] ByName pulled(double loss_scale);

 private:
  /// Of path lengths: looks up their moving mean, and gives what is new of it to `sink`.
  [[nodiscard]] at::Tensor path_length_penalty(const at::Tensor& gradient, StatisticSink* sink);
  /// What is penalised of `gradient`, without a weight.
  [[nodiscard]] at::Tensor measured(const at::Tensor& gradient, StatisticSink* sink);

  Network& network_;
  PenaltyKind kind_;
  double weight_;
  at::Tensor factor_;  // undefined: 1
  BlockSweeps sweeps_;
  at::Tensor original_;  // undefined: the first input itself is looked at
  at::Tensor made_;
  at::Tensor gradient_;  // g of what is looked at: a leaf, between measure and pulled
  at::Tensor penalty_;   // with its graph from there
};

}  // namespace gangway::gan
