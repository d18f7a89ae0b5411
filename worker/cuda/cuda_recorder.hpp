// SPDX-License-Identifier: MIT
// Records steps as CUDA graphs. The graphs hold no NCCL operations, so that no communicator waits
// for their end. Compute thread.
#pragma once

#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "gan/cuda/step_place.hpp"
#include "worker/cuda/torch_graphs.hpp"
#include "worker/step/graph_recorder.hpp"

namespace gangway::worker {

class CudaRecorder final : public GraphRecorder {
 public:
  /// @param stream  of all computing; outlives this
  /// @param most_branches  maximum number of bodies recorded side by side
  explicit CudaRecorder(cudaStream_t stream, int most_branches = 0);
  /// Waits for the played graphs.
  ~CudaRecorder() override;
  CudaRecorder(const CudaRecorder&) = delete;
  CudaRecorder& operator=(const CudaRecorder&) = delete;

  std::size_t record(const std::function<void()>& body) override;
  void side_by_side(const std::vector<std::function<void()>>& bodies) override;
  void forget_all() override;
  void begin_step(std::uint64_t seed, std::int64_t step) override;
  void give_back() override { TorchGraphs::give_back(); }
  void replay(std::size_t graph) override { graphs_.replay(graph); }

 private:
  [[nodiscard]] cuda::StepPlace* place() const {
    return static_cast<cuda::StepPlace*>(place_.get());
  }

  /// A branch of a graph: its stream, and the event that marks its end.
  struct Branch {
    comm::CudaStream stream;
    comm::CudaEvent is_over;
  };

  cudaStream_t stream_;
  std::vector<Branch> branches_;
  comm::CudaEvent fork_event_;
  comm::CudaMemory place_;  // holds the seed and the step, for recorded draws
  TorchGraphs graphs_;
};

}  // namespace gangway::worker
