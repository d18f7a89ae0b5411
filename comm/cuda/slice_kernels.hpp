// SPDX-License-Identifier: MIT
// Runs the fused update on a CUDA device, with the bits of comm/cuda/slice_update.hpp's host
// references: no atomics, fixed orders of additions. All calls are asynchronous, ordered by
// `stream`, and capturable. Called by the thread that launches NCCL; its device owns the memory.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/cuda/slice_update.hpp"

namespace gangway::comm {

/// @throws EnvironmentError if a launch fails; so do the other functions.
void launch_update(const SliceUpdate& update, cudaStream_t stream);
void launch_sum(const SliceSum& sum, cudaStream_t stream);
/// Loads launch_mean's kernels, as load_figure_kernels does for its own.
void load_mean_kernels();
/// out[i] = the mean gradient that the optimiser takes in `update`, after clipping if it clips.
void launch_mean(const SliceUpdate& update, float* out, cudaStream_t stream);
/// squares[i] = sum of squares of block i of `values` (kBlockElements each), in double, in the
/// order of comm/arena/tree_sum.hpp.
void launch_block_squares(const float* values, std::int64_t num_blocks, double* squares,
                          cudaStream_t stream);
/// @param scratch  room for decision.num_blocks doubles
void launch_clip_decision(const ClipDecision& decision, double* scratch, cudaStream_t stream);
void launch_encode(const WireEncoding& encoding, cudaStream_t stream);
/// Writes `constants` to device memory. The caller may change its copy at once because the values
/// travel as kernel arguments.
void launch_store_constants(const UpdateConstants& constants, UpdateConstants* out,
                            cudaStream_t stream);

}  // namespace gangway::comm
