// SPDX-License-Identifier: MIT
// Captures LibTorch's work on this thread's stream as CUDA graphs; memory taken during a capture
// belongs to the graphs. Separate for tests, like worker/cuda/torch_cuda.hpp. Compute thread.
#pragma once

#include <cstddef>
#include <memory>

namespace gangway::worker {

class TorchGraphs {
 public:
  TorchGraphs();
  /// @pre no graph is running on the device
  ~TorchGraphs();
  TorchGraphs(const TorchGraphs&) = delete;
  TorchGraphs& operator=(const TorchGraphs&) = delete;

  /// Begins a capture: until end() or abandon(), work put on the stream is recorded, not run. Other
  /// threads may still call CUDA. All three throw std::exception if the device cannot capture.
  void begin();
  /// Makes the graph ready; returns its number.
  [[nodiscard]] std::size_t end();
  /// Ends a capture without making a graph.
  void abandon() noexcept;
  void replay(std::size_t graph);
  /// @pre no graph is running on the device
  void forget_all();
  /// Returns unused memory of LibTorch's allocator to the device.
  static void give_back();

 private:
  struct Graphs;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace gangway::worker
