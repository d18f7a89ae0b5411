// SPDX-License-Identifier: MIT
// A stand-in for the CUDA runtime that the NCCL path is linked with where there is no GPU: device
// memory is host memory, a stream is a thread that runs what is queued, in order and some time
// later, and events order streams as CUDA's do.
#pragma once

#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

namespace gangway::fake {

/// Queues `work` on `stream`.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// From now on whoever puts work on `stream` does it himself, at once: for the stream that a CPU in
/// the place of a device computes on. @pre nothing is queued there
void run_at_once(cudaStream_t stream);

/// From now on every stream dawdles before each piece of work by a time drawn from this seed; 0:
/// none does. Changes what runs beside what, and must change nothing else.
void dawdle(std::uint64_t seed);

}  // namespace gangway::fake
