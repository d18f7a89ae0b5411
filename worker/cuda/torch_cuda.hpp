// SPDX-License-Identifier: MIT
// Wraps the few calls to LibTorch's CUDA side, so that tests without a GPU can substitute the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

/// Returns LibTorch's name of the device of that index.
[[nodiscard]] at::Device torch_device(int index);

/// Makes LibTorch compute on `stream` of the device, which outlives its last use: on this thread,
/// and on autograd's threads for work that this thread began.
void compute_on(int index, cudaStream_t stream);

/// Makes LibTorch compute on another stream of the same device for the object's lifetime. Affects
/// the same threads as compute_on().
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

/// Sets which kernels LibTorch chooses, and full float32 precision: no TF32.
void choose_kernels(KernelChoice choice);

/// Fills in what LibTorch's allocator of the device reports: the first four figures except
/// `resident_bytes`, and `retries`. Thread-safe; waits for threads that allocate.
void tell_allocator(int index, messages::MemoryFigures& figures);

/// Returns the number of requests that this allocator could not meet, even if caught, since the
/// last abandoned recording (worker/cuda/torch_graphs.hpp).
[[nodiscard]] std::int64_t failed_requests(int index);

/// Returns the versions of the driver and of cuBLAS, by which kernels are chosen.
[[nodiscard]] std::vector<messages::ArithmeticFact> cuda_facts();

}  // namespace gangway::worker
