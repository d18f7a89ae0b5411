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

/// Returns whether the call did not throw; the first error is already reported.
bool attempt(const std::function<void()>& call) {
  try {
    call();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Resets LibTorch's generator after a capture that cannot end, by a copy without the capture's
/// state. @pre no graph that has drawn is replayed from now on
void leave_capture(c10::DeviceIndex device) {
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(device);
  at::Generator fresh = at::cuda::detail::createCUDAGenerator(device);
  fresh.set_current_seed(generator.current_seed());
  generator.graphsafe_set_state(fresh.graphsafe_get_state());
}

}  // namespace

struct TorchGraphs::Graphs {
  /// Memory pool of all graphs, replayed in the order of capture. LibTorch does not reuse a
  /// pool after its last graph is gone, so later graphs need a new pool.
  at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
  std::deque<at::cuda::CUDAGraph> captured;
};

TorchGraphs::TorchGraphs() : graphs_(std::make_unique<Graphs>()) {}
TorchGraphs::~TorchGraphs() = default;

void TorchGraphs::begin() {
  // Restricts only this thread: the watchdog queries events meanwhile, and the loader pins memory.
  graphs_->captured.emplace_back().capture_begin(graphs_->pool, cudaStreamCaptureModeThreadLocal);
}

std::size_t TorchGraphs::end() {
  graphs_->captured.back().capture_end();
  return graphs_->captured.size() - 1;
}

void TorchGraphs::abandon() noexcept {
  const c10::DeviceIndex device = c10::cuda::current_device();
  const bool has_ended = attempt([this] { graphs_->captured.back().capture_end(); });
  // If CUDA fails to end a capture, LibTorch stops there. It keeps allocating for it, on both sides
  // (fixed in 2.12, pytorch/pytorch #180395), and drawing for it.
  (void)attempt([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device, graphs_->pool); });
  (void)attempt([this] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(graphs_->pool); });
  if (!has_ended) {
    (void)attempt([device] { leave_capture(device); });
  }
  (void)attempt([this] { graphs_->captured.pop_back(); });
  // A recording may have lacked memory; clears the count of failed requests for later steps.
  (void)attempt([device] { c10::cuda::CUDACachingAllocator::resetAccumulatedStats(device); });
  (void)cudaGetLastError();  // else the next launch would report it
}

void TorchGraphs::give_back() { c10::cuda::CUDACachingAllocator::emptyCache(); }

void TorchGraphs::replay(std::size_t graph) { graphs_->captured.at(graph).replay(); }

void TorchGraphs::forget_all() {
  graphs_->captured.clear();
  graphs_->pool = at::cuda::graph_pool_handle();
}

}  // namespace gangway::worker
