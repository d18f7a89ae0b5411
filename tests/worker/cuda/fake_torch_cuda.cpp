// SPDX-License-Identifier: MIT
// The CPU instead of LibTorch's CUDA device. LibTorch's work is done when the call returns.
// Gangway's own work on the stream is as late as possible, but in order: it runs when LibTorch
// computes next, or when a thread waits for it.
//
// Its graphs contain Gangway's own work on the stream, but not LibTorch's. The code that replays
// such a wrong graph must notice it.
#include "tests/worker/cuda/fake_torch_cuda.hpp"

#include <atomic>
#include <utility>
#include <vector>

#include <ATen/record_function.h>

#include "comm/cuda/cuda_handles.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "worker/cuda/torch_cuda.hpp"
#include "worker/cuda/torch_graphs.hpp"

namespace gangway::worker {
namespace {

std::atomic<bool> g_waits_in_calls = false;
std::atomic<int> g_failed_requests = 0;
thread_local cudaStream_t t_compute = nullptr;  // stream of this thread's worker

std::unique_ptr<at::ObserverContext> catch_up(const at::RecordFunction& /*operation*/) {
  if (t_compute != nullptr) {
    fake::catch_up(t_compute);
    if (g_waits_in_calls) {
      fake::wait_for_device();
    }
  }
  return nullptr;
}

}  // namespace

std::vector<messages::ArithmeticFact> cuda_facts() { return {{"driver", "stand-in"}}; }

void tell_allocator(int /*index*/, messages::MemoryFigures& figures) {
  figures.allocated_bytes = 1;
  figures.reserved_bytes = 2;
  figures.peak_bytes = 3;
  figures.retries = 4;
}

std::int64_t failed_requests(int /*index*/) { return g_failed_requests; }

at::Device torch_device(int /*index*/) { return at::kCPU; }

void compute_on(int /*index*/, cudaStream_t stream) {
  t_compute = stream;
  if (stream == nullptr) {  // a test's thread has no stream
    return;
  }
  fake::lag(stream);
  at::addThreadLocalCallback(at::RecordFunctionCallback(catch_up));
}

ComputingOn::ComputingOn(cudaStream_t stream) : before_(std::exchange(t_compute, stream)) {}
ComputingOn::~ComputingOn() { t_compute = before_; }

void choose_kernels(KernelChoice /*choice*/) {}

struct TorchGraphs::Graphs {
  std::vector<fake::CudaGraphExec> captured;
};

TorchGraphs::TorchGraphs() : graphs_(std::make_unique<Graphs>()) {}
TorchGraphs::~TorchGraphs() = default;

void TorchGraphs::begin() {
  comm::check(cudaStreamBeginCapture(t_compute, cudaStreamCaptureModeThreadLocal), "a capture");
}

std::size_t TorchGraphs::end() {
  cudaGraph_t graph = nullptr;
  comm::check(cudaStreamEndCapture(t_compute, &graph), "a capture");
  const fake::CudaGraph owned(graph);
  cudaGraphExec_t ready = nullptr;
  comm::check(cudaGraphInstantiate(&ready, owned.get(), 0), "a capture");
  graphs_->captured.emplace_back(ready);
  return graphs_->captured.size() - 1;
}

void TorchGraphs::abandon() noexcept {
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(t_compute, &graph);
  const fake::CudaGraph owned(graph);
}

void TorchGraphs::give_back() {}

void TorchGraphs::forget_all() { graphs_->captured.clear(); }

void TorchGraphs::replay(std::size_t graph) {
  comm::check(cudaGraphLaunch(graphs_->captured.at(graph).get(), t_compute), "a graph");
}

}  // namespace gangway::worker

namespace gangway::fake {

cudaStream_t computed_on() { return worker::t_compute; }
void wait_in_calls(bool does) { worker::g_waits_in_calls = does; }
void fail_requests(int count) { worker::g_failed_requests = count; }

}  // namespace gangway::fake
