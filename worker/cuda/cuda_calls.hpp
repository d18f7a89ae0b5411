// SPDX-License-Identifier: MIT
// Names a worker's CUDA device, and makes the calls to it that several files here share. Any
// thread; nothing here waits.
#pragma once

#include "comm/cuda/cuda_handles.hpp"
#include "gan/torch.hpp"

namespace gangway::worker {

/// A device and its stream of all computing.
struct ComputingDevice {
  int index = 0;
  at::Device torch;
  cudaStream_t compute = nullptr;  ///< outlives its users
};

/// Makes a stream of that device that does not wait for the default stream.
[[nodiscard]] inline comm::CudaStream make_stream(int device, const char* what) {
  comm::check(cudaSetDevice(device), "choosing the GPU");
  cudaStream_t stream = nullptr;
  comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), what);
  return comm::CudaStream(stream);
}

/// Returns whether work before `event` is done. @throws EnvironmentError if the device failed
[[nodiscard]] inline bool has_come(const comm::CudaEvent& event, const char* what) {
  const cudaError_t state = cudaEventQuery(event.get());
  if (state == cudaErrorNotReady) {
    return false;
  }
  comm::check(state, what);
  return true;
}

}  // namespace gangway::worker
