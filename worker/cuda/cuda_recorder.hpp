// SPDX-License-Identifier: MIT
// Records steps as CUDA graphs. The graphs have no operations of NCCL, so that no communicator
// waits for their end. Compute thread.
#pragma once

#include "comm/cuda/cuda_handles.hpp"
#include "gan/cuda/step_place.hpp"
#include "worker/cuda/torch_graphs.hpp"
#include "worker/step/graph_recorder.hpp"

namespace gangway::worker {

class CudaRecorder final : public GraphRecorder {
 public:
  /// @param stream  of all computing; outlives this
  explicit CudaRecorder(cudaStream_t stream);
  /// Waits for what was played.
  ~CudaRecorder() override;
  CudaRecorder(const CudaRecorder&) = delete;
  CudaRecorder& operator=(const CudaRecorder&) = delete;

  std::size_t record(const std::function<void()>& body) override;
  void begin_step(std::uint64_t seed, std::int64_t step) override;
  void give_back() override { TorchGraphs::give_back(); }
  void play(std::size_t graph) override { graphs_.play(graph); }

 private:
  [[nodiscard]] cuda::StepPlace* place() const {
    return static_cast<cuda::StepPlace*>(place_.get());
  }

  cudaStream_t stream_;
  comm::CudaMemory place_;  // of the seed and the step, for draws that were recorded
  TorchGraphs graphs_;
};

}  // namespace gangway::worker
