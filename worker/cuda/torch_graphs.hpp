// SPDX-License-Identifier: MIT
// CUDA graphs of what LibTorch puts on this thread's stream: memory that it takes while one is
// captured belongs to the graphs. Apart, as worker/cuda/torch_cuda.hpp. Compute thread.
#pragma once

#include <cstddef>
#include <memory>

namespace gangway::worker {

class TorchGraphs {
 public:
  TorchGraphs();
  /// @pre nothing of the graphs is on the device any more
  ~TorchGraphs();
  TorchGraphs(const TorchGraphs&) = delete;
  TorchGraphs& operator=(const TorchGraphs&) = delete;

  /// From now on, until end() or abandon(), what is put on the stream is captured and not done.
  /// Other threads may go on calling CUDA. @throws std::exception, also in the other two, where the
  /// device cannot
  void begin();
  /// Makes the graph ready; returns its number.
  [[nodiscard]] std::size_t end();
  /// Ends a capture of which there will be no graph.
  void abandon() noexcept;
  void play(std::size_t graph);
  /// @pre nothing of theirs is on the device
  void forget_all();
  /// What LibTorch's allocator keeps and nobody uses goes back to the device.
  static void give_back();

 private:
  struct Graphs;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace gangway::worker
