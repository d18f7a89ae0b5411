// SPDX-License-Identifier: MIT
// The four sweeps of a gradient penalty (gan/losses/penalty.hpp) through a run of a network's
// blocks: all of them, or a chunk's. What flows over the run's ends goes in and out by name, and
// the sums come in one order wherever the ends are. Compute thread.
//
//   1. forward, first to last block:        y_i = f_i(x_i)
//   2. backward, last to first, with graph: g_i = (df_i/dx_i)^T g_{i+1}
//   3. forward again, through the g_i:      from dpenalty/dg_0 to dpenalty/dg_i, dpenalty/dx_i and
//   weight gradients
//   4. backward again, through the y_i:     the dpenalty/dx_i of all blocks flow back, the rest of
//   the weight gradients
//
// Where several blocks take a tensor (skips, styles made of the image), its g and its dpenalty/dx
// are sums over them, last block first.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gan/network.hpp"

namespace gangway::gan {

/// A tensor of a network whose g is wanted.
struct LookedAt {
  std::string name;
  bool is_inside = false;  ///< a block makes it of weights and still inputs; else an input
};

class BlockSweeps {
 public:
  /// Undefined, or not there: nothing depends on it.
  using ByName = std::map<std::string, at::Tensor>;

  /// Borrows the network.
  BlockSweeps(Network& network, BlockRange blocks, LookedAt at);

  /// Sweep 1, in float32 whatever the context says. @param in  what flows into the run, detached
  /// inside. Returns what flows out of it, without a graph.
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext& context);
  /// Sweep 2. @param of_outputs  g of what flows out. Returns g of what flows in, and of what is
  /// looked at, if it is made in here. @pre forward
  [[nodiscard]] ByName cotangents(ByName of_outputs);
  /// When sweep 3 adds to the parameters' `.grad`.
  enum class Adds {
    kAtOnce,
    kLater,  ///< with sweep 4, which adds both in this order: no leaf is open before
  };
  /// Sweep 3. @param incoming  dpenalty/dg of what cotangents() returned. Returns it of what that
  /// was given. @pre cotangents
  [[nodiscard]] ByName second_order(ByName incoming, Adds adds = Adds::kAtOnce);
  /// Sweep 4: adds to the parameters' `.grad`. @param incoming  dpenalty/dx of what forward()
  /// returned. Returns it of what that was given. @param on_block  called with a block's index once
  /// all of its gradients are complete and its weights are no longer needed; last block first
  /// @pre second_order, where there are cotangents
  [[nodiscard]] ByName adjoints(ByName incoming, const std::function<void(std::size_t)>& on_block);

 private:
  /// One block cut out of the network. What of its tensors depends on what is looked at or on
  /// weights is named, is a leaf where it comes in, and has a graph from there where it goes out.
  struct Cut {
    std::size_t block = 0;
    std::vector<std::string> input_names;
    std::vector<std::string> output_names;
    std::vector<at::Tensor> inputs;  // first those that depend on it, and so have a g
    std::size_t num_moving = 0;      // of these; where there are none, no output depends on it
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> output_cotangents;  // leaves: g of `outputs`
    std::vector<at::Tensor> input_cotangents;   // with graph: this block's part of g of the moving
    std::vector<at::Tensor> adjoints;           // this block's part of dpenalty/d `inputs`
    std::vector<at::Tensor> held;               // sweep 3's of parameters, where sweep 4 adds them
  };

  [[nodiscard]] std::vector<at::Tensor> trained(std::size_t block) const;
  /// What `block` makes depends on what is looked at, if something that it takes does.
  [[nodiscard]] bool makes_moving(bool takes_moving, const std::string& output) const {
    return takes_moving || (at_.is_inside && output == at_.name);
  }
  /// Goes by the blocks before the run.
  void find_flow();

  Network& network_;
  BlockRange blocks_;
  LookedAt at_;
  std::set<std::string> moving_;  // where the run begins, names of what depends on it
  std::set<std::string> still_;   // and of what depends on weights alone
  std::vector<Cut> cuts_;
};

}  // namespace gangway::gan
