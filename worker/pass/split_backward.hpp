// SPDX-License-Identifier: MIT
// Backward of what a chunk has made in two goes: the gradients of what it took first, since another
// worker waits for them, those of its weights later (zero bubble pipelines, Qi et al., 2024). No
// layer is gone through twice: the first go notes what arrives at each function that a weight hangs
// on, the second carries out their part for the weights alone. The kernels are those of one
// backward, and so are the bits. Compute thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>

namespace gangway::worker {

class SplitBackward {
 public:
  /// First go: adds the gradients of `inputs`, leaves that `outputs` depend on, to theirs.
  /// @param outputs    with a graph; @param gradients  of them
  SplitBackward(std::vector<at::Tensor> outputs, std::vector<at::Tensor> gradients,
                const std::vector<at::Tensor>& inputs);
  /// Second go, once: adds those of all other leaves to theirs, and lets go of the graph.
  void finish() &&;
  /// Whether some layers are gone through again in the second go, as where one weight hangs on
  /// several functions: its summands are added up before they are added to its gradient.
  [[nodiscard]] bool goes_twice() const { return twice_.has_value(); }

 private:
  using Node = torch::autograd::Node;
  using Arrived = std::vector<at::Tensor>;
  /// A function on the way to the inputs on which weights hang, or the beginning of a part of the
  /// graph that leads to weights alone.
  struct Junction {
    std::shared_ptr<Node> function;
    std::shared_ptr<Arrived> arrived;                 ///< by its outputs: their gradients
    std::vector<torch::autograd::Edge> weights = {};  ///< leaves that hang on it alone
  };
  class Graph;

  std::vector<Junction> junctions_;
  /// Outputs and their gradients, where the second go begins with them again.
  std::optional<std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>> twice_;
  std::vector<at::Tensor> weights_;  // of that
};

}  // namespace gangway::worker
