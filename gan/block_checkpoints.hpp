// SPDX-License-Identifier: MIT
// Runs a network with activation checkpointing (Chen et al., 2016, section 4.1). It keeps the
// tensors between blocks and drops those inside; backward reruns each block, last block first. The
// bits equal those without checkpoints, because each block does the same in both runs. Compute
// thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gan/network.hpp"

namespace gangway::gan {

class BlockCheckpoints {
 public:
  /// Whether backward computes gradients of the weights, or of the network's inputs only.
  enum class Trains { kNo, kYes };

  using ByName = std::map<std::string, at::Tensor>;

  /// Runs all blocks. Borrows the network; its weights must not change before backward().
  /// @param in  backward computes gradients of the tensors that require one
  BlockCheckpoints(Network& network, const NamedTensors& in, const ForwardContext& context,
                   Trains trains);
  /// Returns the network's results without a graph, as Network::forward_levels does.
  [[nodiscard]] const std::vector<at::Tensor>& made() const { return made_; }
  /// Adds to the weights' `.grad` if it trains, and returns the inputs' gradients by name. Call
  /// once.
  /// @param gradients  of made(); undefined: no loss depends on that tensor
  [[nodiscard]] ByName backward(const std::vector<at::Tensor>& gradients) &&;

 private:
  /// The graph of one block, cut off at the block's inputs.
  struct Run {
    struct End {
      at::Tensor taken;
      std::shared_ptr<at::Tensor> caught;  ///< its gradient after backward
    };
    /// Runs backward to the block's inputs only; leaves gradients of weights alone.
    void pull_inputs(const std::vector<at::Tensor>& outputs,
                     const std::vector<at::Tensor>& gradients) const;
    std::map<std::string, End> ends;  ///< inputs that have a gradient
    NamedTensors out;
  };
  [[nodiscard]] Run run(std::size_t block, const ForwardContext& context) const;

  /// Runs one block backward. @param flowing  gradients of the inputs of later blocks
  void pull(std::size_t block, const ForwardContext& context, ByName& flowing) const;

  Network& network_;
  ForwardContext context_;  // without its sink: statistics are taken once
  bool is_seen_;            // there was a sink: it decides which kernels run
  bool trains_;
  std::vector<NamedTensors> taken_;            // by block
  std::vector<std::set<std::string>> moving_;  // by block: names of tensors with a gradient
  NamedTensors last_;                          // outputs of the last block
  std::vector<at::Tensor> made_;
};

}  // namespace gangway::gan
