// SPDX-License-Identifier: MIT
// The four sweeps of a gradient penalty (gan/losses/penalty.hpp) through a run of blocks: a whole
// network or a chunk. Tensors at the run's ends go in and out by name; sums have one order wherever
// the ends are. Compute thread.
//
//   1. forward, first to last block:        y_i = f_i(x_i)
//   2. backward, last to first, with graph: g_i = (df_i/dx_i)^T g_{i+1}
//   3. forward again, through the g_i:      from dpenalty/dg_0 to dpenalty/dg_i, dpenalty/dx_i and
//   weight gradients
//   4. backward again, through the y_i:     the dpenalty/dx_i of all blocks flow back, the rest of
//   the weight gradients
//
// If several blocks take a tensor (skips, styles made of the image), its g and its dpenalty/dx are
// sums over these blocks, last block first.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gan/network.hpp"

namespace gangway::gan {

/// The tensor of a network whose g is penalised.
struct PenaltyTensor {
  std::string name;
  bool is_inside = false;  ///< made by a block without gradient inputs; else a network input
};

class BlockSweeps {
 public:
  /// Tensors by name. An undefined or missing tensor means that nothing depends on it.
  using ByName = std::map<std::string, at::Tensor>;

  /// Borrows the network.
  BlockSweeps(Network& network, BlockRange blocks, PenaltyTensor at);

  /// Runs sweep 1. @param in  inputs of the run, detached inside. @param context  its precision is
  /// that of all sweeps. Returns the run's outputs without a graph.
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext& context);
  /// Runs sweep 2. @param of_outputs  g of the outputs. Returns g of the run's inputs, and of the
  /// penalised tensor if this run makes it. @pre forward
  [[nodiscard]] ByName cotangents(ByName of_outputs);
  /// When sweep 3 adds to the parameters' `.grad`.
  enum class Adds {
    kAtOnce,
    kLater,  ///< in sweep 4, in this order: no gradient is partial before
  };
  /// Runs sweep 3. @param incoming  dpenalty/dg of the results of cotangents(). Returns dpenalty/dg
  /// of its argument. @pre cotangents
  [[nodiscard]] ByName second_order(ByName incoming, Adds adds = Adds::kAtOnce);
  /// Runs sweep 4, which adds to the parameters' `.grad`. @param incoming  dpenalty/dx of
  /// forward()'s results. Returns dpenalty/dx of its inputs. @param on_block  called with a block's
  /// index, last block first, when its gradients are complete and its weights no longer needed
  /// @pre second_order, if there are cotangents
  [[nodiscard]] ByName adjoints(ByName incoming, const std::function<void(std::size_t)>& on_block);

 private:
  /// One block cut out of the network. Its tensors that depend on the penalised tensor or on
  /// weights have names. Each is a leaf as an input and has a graph from there as an output.
  struct Cut {
    std::size_t block = 0;
    std::vector<std::string> input_names;
    std::vector<std::string> output_names;
    std::vector<at::Tensor> inputs;  // first the moving ones, which have a g
    std::size_t num_moving = 0;      // moving inputs; 0: no output is moving
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> output_cotangents;  // leaves: g of `outputs`
    std::vector<at::Tensor> input_cotangents;   // with graph: this block's part of moving inputs' g
    std::vector<at::Tensor> adjoints;           // this block's part of dpenalty/d `inputs`
    std::vector<at::Tensor> held;               // sweep 3's weight gradients for sweep 4 (kLater)
  };

  [[nodiscard]] std::vector<at::Tensor> trained(std::size_t block) const;
  /// Returns whether an output is moving: the block takes a moving input, or makes the penalised
  /// tensor.
  [[nodiscard]] bool makes_moving(bool takes_moving, const std::string& output) const {
    return takes_moving || (at_.is_inside && output == at_.name);
  }
  /// Finds the moving and still tensors before the run.
  void find_flow();

  Network& network_;
  BlockRange blocks_;
  PenaltyTensor at_;
  std::set<std::string> moving_;  // at the run's start: names that depend on the penalised tensor
  std::set<std::string> still_;   // names that depend on weights only
  Precision precision_ = Precision::kFp32;
  std::vector<Cut> cuts_;
};

}  // namespace gangway::gan
