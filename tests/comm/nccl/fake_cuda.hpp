// SPDX-License-Identifier: MIT
// A stand-in for the CUDA runtime, for builds without a GPU. Device memory is host memory. A stream
// is a thread that runs queued work in order and with a delay. Events order streams as in CUDA.
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

/// Delays `stream` as much as a device may: its work runs only when another stream or the host
/// waits for it. A missing wait therefore reads old data.
/// @pre the stream is empty
void lag(cudaStream_t stream);
/// Runs the queued work of a lagging stream, or waits for any other stream.
void catch_up(cudaStream_t stream);

/// Waits for all work on the streams of this thread. CUDA may do so at the first call of a kernel,
/// to load it.
void wait_for_device();

/// Returns the most bytes allocated at once on all devices since the last call of
/// forget_most_device_bytes(). Excludes page-locked memory of the host.
[[nodiscard]] std::size_t most_device_bytes();
void forget_most_device_bytes();
/// Counts allocated `bytes` of a device; negative: freed bytes.
void count_device_bytes(std::int64_t bytes);

/// Returns the number of allocations of page-locked memory in this process.
[[nodiscard]] int times_locked();
/// Returns the number of event records outside of captures in this process.
[[nodiscard]] int num_records();

/// Returns whether work on `stream` is captured into a graph. Graphs run the work that was captured
/// last as early as its events allow.
[[nodiscard]] bool is_capturing(cudaStream_t stream);

/// Sets the PCI bus of the device that this thread sees. @param bus  a literal
void see_device(const char* bus);

/// Sets whether each updated slice ends with one wrong bit.
void miscompute(bool does);
[[nodiscard]] bool miscomputes();

/// Makes every stream wait before each piece of work, for times drawn from this seed; 0: no wait.
/// Changes the overlap of streams, and must change no result.
void dawdle(std::uint64_t seed);

}  // namespace gangway::fake
