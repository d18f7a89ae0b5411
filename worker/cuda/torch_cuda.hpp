// SPDX-License-Identifier: MIT
// The few things that are asked of LibTorch's CUDA side. Apart, so that tests without a GPU can put
// the CPU in its place.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

/// What LibTorch calls the device of that index.
[[nodiscard]] at::Device torch_device(int index);

/// From now on LibTorch computes on `stream` of the device, which outlives its last use: on this
/// thread, and on autograd's for what this thread began.
void compute_on(int index, cudaStream_t stream);

/// LibTorch computes on another stream of the same device until this goes. On this thread, as
/// above.
class ComputingOn {
 public:
  /// @param stream  outlives its last use
  explicit ComputingOn(cudaStream_t stream);
  ~ComputingOn();
  ComputingOn(const ComputingOn&) = delete;
  ComputingOn& operator=(const ComputingOn&) = delete;

 private:
  cudaStream_t before_;
};

/// Which kernels LibTorch chooses, and float32 as it is: no TF32.
void choose_kernels(KernelChoice choice);

/// What LibTorch's allocator of the device has: the first four of them but `resident_bytes`, and
/// `retries`. Thread-safe; waits for whoever allocates.
void tell_allocator(int index, messages::MemoryFigures& figures);

/// Requests that this allocator could not meet, caught by whomever, since the last recording that
/// was abandoned (worker/cuda/torch_graphs.hpp).
[[nodiscard]] std::int64_t failed_requests(int index);

/// Versions of the driver and of cuBLAS, by which kernels are chosen.
[[nodiscard]] std::vector<messages::ArithmeticFact> cuda_facts();

}  // namespace gangway::worker
