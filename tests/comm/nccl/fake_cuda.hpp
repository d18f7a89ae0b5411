// SPDX-License-Identifier: MIT
// A stand-in for the CUDA runtime that the NCCL path is linked with where there is no GPU: device
// memory is host memory, a stream is a thread that runs what is queued, in order and some time
// later, and events order streams as CUDA's do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

#include "base/unique_handle.hpp"

namespace gangway::fake {

using CudaGraph = UniqueHandle<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = UniqueHandle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Queues `work` on `stream`.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// From now on `stream` is as late as a device may be: what is queued there runs when another
/// stream or the host waits for it, and not before. Whoever forgets to wait reads what is not there
/// yet.
/// @pre nothing is queued there
void lag(cudaStream_t stream);
/// Runs what is queued on a stream that lags, and waits for any other.
void catch_up(cudaStream_t stream);

/// Waits for all that is on the streams that this thread has made: what CUDA may do where a kernel
/// is called that is not loaded yet.
void wait_for_device();

/// Bytes of all devices that were given out at once at the most, page-locked memory of the host not
/// among them, since the last call of the other.
[[nodiscard]] std::size_t most_device_bytes();
void forget_most_device_bytes();
/// Counts `bytes` of a device that come, or go where they are negative.
void count_device_bytes(std::int64_t bytes);

/// How often page-locked memory was asked for, by anybody.
[[nodiscard]] int times_locked();
/// How often an event was recorded outside of captures, by anybody.
[[nodiscard]] int num_records();

/// Whether what is put on `stream` becomes a part of a graph. Graphs run what was
/// captured last as early as its events allow.
[[nodiscard]] bool is_capturing(cudaStream_t stream);

/// The device that this thread sees lies at that PCI bus from now on; a literal.
void see_device(const char* bus);

/// From now on, or no longer, each slice that is updated ends with one bit that is not the
/// optimiser's.
void miscompute(bool does);
[[nodiscard]] bool miscomputes();

/// From now on every stream dawdles before each piece of work by a time drawn from this seed; 0:
/// none does. Changes what runs beside what, and must change nothing else.
void dawdle(std::uint64_t seed);

}  // namespace gangway::fake
