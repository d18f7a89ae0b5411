// SPDX-License-Identifier: MIT
#include "worker/cuda/torch_graphs.hpp"

#include <deque>
#include <exception>
#include <functional>

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <cuda_runtime_api.h>

#include "gan/torch.hpp"

namespace gangway::worker {

namespace {

/// Whether nothing was thrown: what went wrong is told already.
bool attempt(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// LibTorch's own draws, of which a capture that cannot be ended would stay a part: as they were,
/// by a generator that knows nothing of it. @pre no graph that has drawn is played from now on
void leave_capture(c10::DeviceIndex device) {
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device);
  at::Generator fresh = at::cuda::detail::createCUDAGenerator(device);
  fresh.set_current_seed(generator.current_seed());
  generator.graphsafe_set_state(fresh.graphsafe_get_state());
}

}  // namespace

struct TorchGraphs::Graphs {
  /// Of all graphs: they are played in the order in which they were captured. LibTorch takes none
  /// up again whose last graph has gone, so that others follow in another.
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
  const c10::DeviceIndex device = c10::cuda::current_device();
  const bool has_ended = attempt([this] { graphs_->captured.back().capture_end(); });
  // Where CUDA has no graph to give, LibTorch stops there, and goes on taking memory for one, both
  // kinds (mended in 2.12, pytorch/pytorch #180395), and drawing for one.
  (void)attempt([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, graphs_->pool); });
  (void)attempt([this] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(graphs_->pool); });
  if (!has_ended) {
    (void)attempt([device] { leave_capture(device); });
  }
  (void)attempt([this] { graphs_->captured.pop_back(); });
  // A recording may have found too little memory, and steps go on as before it.
  (void)attempt([device] { c10::cuda::CUDACachingAllocator::resetAccumulatedStats(device); });
  (void)cudaGetLastError();  // it would be taken for the next launch's
}

void TorchGraphs::give_back() { c10::cuda::CUDACachingAllocator::emptyCache(); }

void TorchGraphs::play(std::size_t graph) { graphs_->captured.at(graph).replay(); }

void TorchGraphs::forget_all() {
  graphs_->captured.clear();
  graphs_->pool = at::cuda::graph_pool_handle();
}

}  // namespace gangway::worker
