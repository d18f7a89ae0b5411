// SPDX-License-Identifier: MIT
#include "worker/cuda/torch_graphs.hpp"

#include <deque>
#include <exception>

#include <ATen/cuda/CUDAGraph.h>
#include <cuda_runtime_api.h>

#include "gan/torch.hpp"

namespace gangway::worker {

struct TorchGraphs::Graphs {
  /// Of all graphs: they are played in the order in which they were captured.
  at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
  std::deque<at::cuda::CUDAGraph> captured;
};

TorchGraphs::TorchGraphs() : graphs_(std::make_unique<Graphs>()) {}
TorchGraphs::~TorchGraphs() = default;

void TorchGraphs::begin() {
  // Of this thread alone: the watchdog asks for events meanwhile, and the loader pins memory.
  graphs_->captured.emplace_back().capture_begin(graphs_->pool, cudaStreamCaptureModeThreadLocal);
}

std::size_t TorchGraphs::end() {
  graphs_->captured.back().capture_end();
  return graphs_->captured.size() - 1;
}

void TorchGraphs::abandon() noexcept {
  const auto attempt = [](const auto& call) {
    try {
      call();
    } catch (const std::exception&) {  // what went wrong is told already
    }
  };
  attempt([this] { graphs_->captured.back().capture_end(); });
  // Where CUDA has no graph to give, LibTorch stops there and goes on taking memory for one.
  attempt([this] {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(c10::cuda::current_device(), graphs_->pool);
  });
  attempt([this] { graphs_->captured.pop_back(); });
  // A recording may have found too little memory, and steps go on as before it.
  attempt(
      [] { c10::cuda::CUDACachingAllocator::resetAccumulatedStats(c10::cuda::current_device()); });
  (void)cudaGetLastError();  // it would be taken for the next launch's
}

void TorchGraphs::give_back() { c10::cuda::CUDACachingAllocator::emptyCache(); }

void TorchGraphs::play(std::size_t graph) { graphs_->captured.at(graph).replay(); }

void TorchGraphs::forget_from(std::size_t graph) {
  while (graphs_->captured.size() > graph) {
    graphs_->captured.pop_back();
  }
}

}  // namespace gangway::worker
