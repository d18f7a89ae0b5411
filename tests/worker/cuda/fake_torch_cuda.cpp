// SPDX-License-Identifier: MIT
// The CPU in the place of LibTorch's CUDA device. What LibTorch computes is done when the call
// returns; what our own code puts on the stream beside it is as late as it may be, but in order: it
// runs when LibTorch computes next, or when somebody waits for it.
#include <ATen/record_function.h>

#include "tests/comm/nccl/fake_cuda.hpp"
#include "worker/cuda/torch_cuda.hpp"

namespace gangway::worker {
namespace {

thread_local cudaStream_t t_compute = nullptr;  // of the worker that this thread is

std::unique_ptr<at::ObserverContext> catch_up(const at::RecordFunction& /*operation*/) {
  fake::catch_up(t_compute);
  return nullptr;
}

}  // namespace

at::Device torch_device(int /*index*/) { return at::kCPU; }

void compute_on(int /*index*/, cudaStream_t stream) {
  fake::lag(stream);
  t_compute = stream;
  at::addThreadLocalCallback(at::RecordFunctionCallback(catch_up));
}

void choose_kernels(KernelChoice /*choice*/) {}

}  // namespace gangway::worker
