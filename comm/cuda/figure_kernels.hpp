// SPDX-License-Identifier: MIT
// What people are shown of updates on a CUDA device, a few times a thousand images. All
// asynchronous, ordered by `stream`, with every order of additions fixed. The thread that launches
// updates calls them; its current device owns the memory.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/cuda/value_counts.hpp"

namespace gangway::comm {

/// values[i] = from[i] - values[i]. @throws EnvironmentError when a launch fails; so does the other
void launch_difference(const float* from, float* values, std::int64_t elements,
                       cudaStream_t stream);
/// Adds `values` to `counts`. By one block of threads: a millisecond or so for a million values.
void launch_count(const float* values, std::int64_t elements, ValueCounts* counts,
                  cudaStream_t stream);

}  // namespace gangway::comm
