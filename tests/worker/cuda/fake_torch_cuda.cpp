// SPDX-License-Identifier: MIT
// The CPU in the place of LibTorch's CUDA device: what computes is done when the call returns, and so
// is what lies on the stream that it computes on. All other streams take their time.
#include "tests/comm/nccl/fake_cuda.hpp"
#include "worker/cuda/torch_cuda.hpp"

namespace gangway::worker {

at::Device torch_device(int /*index*/) { return at::kCPU; }

void compute_on(int /*index*/, cudaStream_t stream) { fake::run_at_once(stream); }

void choose_kernels(KernelChoice /*choice*/) {}

}  // namespace gangway::worker
