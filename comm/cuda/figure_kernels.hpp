// SPDX-License-Identifier: MIT
// What people are shown of updates on a CUDA device, a few times a thousand images. All
// asynchronous, ordered by `stream`, with every order of additions fixed. The thread that launches
// updates calls them; its current device owns the memory.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/cuda/value_counts.hpp"

namespace gangway::comm {

/// CUDA loads a kernel when it is first asked about it, and may wait for all that is on the device
/// then: from now on no launch of those that show updates does.
void load_figure_kernels();

/// values[i] = from[i] - values[i]. @throws EnvironmentError when a launch fails; so do the others
void launch_difference(const float* from, float* values, std::int64_t elements,
                       cudaStream_t stream);
/// Adds `values` to `counts`. By one block of threads: a millisecond or so for a million values.
void launch_count(const float* values, std::int64_t elements, ValueCounts* counts,
                  cudaStream_t stream);

}  // namespace gangway::comm
