// SPDX-License-Identifier: MIT
// An application of a network that keeps what flows between its blocks, and nothing of what is
// inside them: backward runs each block once more, last block first (activation checkpointing,
// Chen et al., 2016, section 4.1). The bits are those of an application that keeps all: a block
// does in both what it does in one. Compute thread.
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
  /// Whether gradients of the network's weights are wanted, or of what it takes alone.
  enum class Trains { kNo, kYes };

  using ByName = std::map<std::string, at::Tensor>;

  /// Runs all blocks. Borrows the network, whose weights do not change before backward().
  /// @param in  of these those have a gradient that require one
  BlockCheckpoints(Network& network, const NamedTensors& in, const ForwardContext& context,
                   Trains trains);
  /// What the network makes, without a graph; as Network::forward_levels.
  [[nodiscard]] const std::vector<at::Tensor>& made() const { return made_; }
  /// Once: adds to the weights' `.grad`, where it trains, and returns the gradients of what it
  /// took, by name. @param gradients  of made(); undefined: nothing depends on it
  [[nodiscard]] ByName backward(const std::vector<at::Tensor>& gradients) &&;

 private:
  struct Catch;
  /// A block's graph, which ends at what it takes.
  struct Run {
    struct End {
      at::Tensor taken;
      std::shared_ptr<Catch> caught;  ///< its gradient, once it has arrived
    };
    /// As backward, but for the gradients of weights.
    void pull_inputs(const std::vector<at::Tensor>& outputs,
                     const std::vector<at::Tensor>& gradients) const;
    std::map<std::string, End> ends;  ///< of these those that have a gradient
    NamedTensors out;
  };
  [[nodiscard]] Run run(std::size_t block, const ForwardContext& context) const;

  /// Backward of one block. @param flowing  gradients of what those behind it take
  void pull(std::size_t block, const ForwardContext& context, ByName& flowing) const;

  Network& network_;
  ForwardContext context_;  // without its sink, which has been told
  bool is_seen_;            // there was one: some kernels are others then
  bool trains_;
  std::vector<NamedTensors> taken_;            // by block
  std::vector<std::set<std::string>> moving_;  // by block: names of what has a gradient
  NamedTensors last_;                          // what flows out of the last
  std::vector<at::Tensor> made_;
};

}  // namespace gangway::gan
