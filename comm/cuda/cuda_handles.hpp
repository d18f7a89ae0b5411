// SPDX-License-Identifier: MIT
// Owns CUDA's handles and checks the results of its calls. No LibTorch.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/unique_handle.hpp"

namespace gangway::comm {

/// @throws EnvironmentError naming `what` unless `result` is cudaSuccess.
inline void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    throw EnvironmentError(fmt::format("{}: {}; check the device and its driver with nvidia-smi",
                                       what, cudaGetErrorString(result)));
  }
}

using CudaStream = UniqueHandle<cudaStream_t, cudaStreamDestroy>;
using CudaEvent = UniqueHandle<cudaEvent_t, cudaEventDestroy>;
using CudaMemory = UniqueHandle<void*, cudaFree>;

/// Page-locked host memory, which the device reads and writes by DMA.
using PinnedMemory = UniqueHandle<void*, cudaFreeHost>;

/// Makes a stream that does not wait for the default stream, at the device's highest priority:
/// its kernels are few and small, and the whole step waits for them.
[[nodiscard]] inline CudaStream make_priority_stream() {
  int lowest = 0;
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "asking for stream priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
        "making the communication stream");
  return CudaStream(stream);
}

/// Makes an event that orders streams and records no time.
[[nodiscard]] inline CudaEvent make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  return CudaEvent(event);
}

/// Makes an event that records its time.
[[nodiscard]] inline CudaEvent make_timed_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "making an event");
  return CudaEvent(event);
}

/// Whether work enqueued on `stream` becomes part of a graph.
[[nodiscard]] inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

/// Records `event` on `stream`. While `stream` is captured, the record becomes a graph node, and
/// streams outside the graph can wait for it after each launch.
inline void record_in_graph(cudaEvent_t event, cudaStream_t stream, const char* what) {
  check(cudaEventRecordWithFlags(
            event, stream, is_capturing(stream) ? cudaEventRecordExternal : cudaEventRecordDefault),
        what);
}

[[nodiscard]] inline PinnedMemory allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "allocating page-locked memory");
  return PinnedMemory(memory);
}

[[nodiscard]] inline CudaMemory allocate_on_device(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocating device memory");
  return CudaMemory(memory);
}

}  // namespace gangway::comm
