// SPDX-License-Identifier: MIT
// Runs a chunk's backward in two parts (zero bubble pipelines, Qi et al., 2024). Gradients of its
// inputs come first, because another worker waits for them; those of its weights later. No layer
// runs twice: the first part stores the gradients that arrive at each function with weights. The
// second runs those functions for the weights alone. Kernels and bits equal those of one backward.
// Compute thread.
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
  /// First part: adds the gradients of `inputs`, leaves that `outputs` depend on, to their grad.
  SplitBackward(std::vector<at::Tensor> outputs, std::vector<at::Tensor> gradients,
                const std::vector<at::Tensor>& inputs);
  /// Second part, once: adds the gradients of all other leaves and releases the graph.
  void finish() &&;
  /// Returns whether the second part runs some layers again, for instance if one weight belongs to
  /// several functions: autograd sums its gradients before adding them to its grad.
  [[nodiscard]] bool reruns_layers() const { return rerun_roots_.has_value(); }

 private:
  using Node = torch::autograd::Node;
  /// A shared_ptr in LibTorch 2.11, an intrusive_ptr in later versions.
  using NodePointer = decltype(torch::autograd::Edge::function);
  using Arrived = std::vector<at::Tensor>;
  /// A function with weights on the way to the inputs, or the start of a weights-only part of the
  /// graph.
  struct SplitPoint {
    NodePointer function;
    std::shared_ptr<Arrived> arrived;                 ///< gradients of its outputs
    std::vector<torch::autograd::Edge> weights = {};  ///< leaves of this function alone
  };
  class Graph;

  std::vector<SplitPoint> split_points_;
  /// Outputs and their gradients, if the second part starts from them again.
  std::optional<std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>> rerun_roots_;
  std::vector<at::Tensor> weights_;  // leaves of that second part
};

}  // namespace gangway::worker
