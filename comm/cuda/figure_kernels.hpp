// SPDX-License-Identifier: MIT
// Computes the figures of updates for display on a CUDA device, a few times per thousand images.
// All calls are asynchronous, ordered by `stream`, and fix the order of additions. Called by the
// thread that launches updates; its current device owns the memory.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/cuda/value_counts.hpp"

namespace gangway::comm {

/// Loads the kernels of displayed updates, so that no later launch stalls. CUDA loads a kernel at
/// its first use, and may then wait for all work on the device.
void load_figure_kernels();

/// values[i] = from[i] - values[i]. @throws EnvironmentError if a launch fails, as launch_count.
void launch_difference(const float* from, float* values, std::int64_t elements,
                       cudaStream_t stream);
/// Adds `values` to `counts` with one thread block: about a millisecond for a million values.
void launch_count(const float* values, std::int64_t elements, ValueCounts* counts,
                  cudaStream_t stream);

}  // namespace gangway::comm
