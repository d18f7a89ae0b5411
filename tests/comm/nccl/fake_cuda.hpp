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

/// From now on `stream` is as late as a device may be: what is queued there runs when another
/// stream or the host waits for it, and not before. Whoever forgets to wait reads what is not there
/// yet.
/// @pre nothing is queued there
void lag(cudaStream_t stream);
/// Runs what is queued on a stream that lags, and waits for any other.
void catch_up(cudaStream_t stream);

/// How often an event was recorded outside of captures, by anybody.
[[nodiscard]] int num_records();

/// Whether what is put on `stream` becomes a part of a graph. Graphs run their work in the order in
/// which it was captured.
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
