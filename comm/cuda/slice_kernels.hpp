// SPDX-License-Identifier: MIT
// The fused update on a CUDA device, with the bits of comm/cuda/slice_update.hpp's host references:
// no atomics, every order of additions fixed. All asynchronous, ordered by `stream`, capturable.
// The thread that launches NCCL calls them; its current device owns the memory.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/cuda/slice_update.hpp"

namespace gangway::comm {

/// @throws EnvironmentError when a launch fails; so do the others.
void launch_update(const SliceUpdate& update, cudaStream_t stream);
void launch_sum(const SliceSum& sum, cudaStream_t stream);
/// As load_figure_kernels, of the next two.
void load_mean_kernels();
/// out[i] = the mean gradient that `update` is made of, as its optimiser takes it: clipped where it
/// clips.
void launch_mean(const SliceUpdate& update, float* out, cudaStream_t stream);
/// squares[i] = sum of squares of block i of `values` (kBlockElements each), in double and in the
/// order of comm/arena/tree_sum.hpp.
void launch_block_squares(const float* values, std::int64_t num_blocks, double* squares,
                          cudaStream_t stream);
/// `scratch` has room for decision.num_blocks doubles.
void launch_clip_decision(const ClipDecision& decision, double* scratch, cudaStream_t stream);
void launch_encode(const WireEncoding& encoding, cudaStream_t stream);
/// Writes `constants` to device memory; they travel as a kernel's argument, so the host's copy may
/// change at once.
void launch_store_constants(const UpdateConstants& constants, UpdateConstants* out,
                            cudaStream_t stream);

}  // namespace gangway::comm
