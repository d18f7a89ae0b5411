// SPDX-License-Identifier: MIT
// Implements at::gather along the pixels of pictures, with a gradient whose sums are exact in any
// order. LibTorch's deterministic gradient on a GPU sorts all indices. Compute and autograd
// threads.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Adds `values` [N, C, Q], times `scale` [1] (float64) and rounded, to `sums` [N, C, P] (int64) at
/// the pixels `index` [N, Q]. Weak: defined in programs that compute on a GPU
/// (gan/cuda/random_on_device.cpp), null in all others.
[[gnu::weak]] void add_scaled_on_device(const at::Tensor& values, const at::Tensor& index,
                                        const at::Tensor& scale, const at::Tensor& sums);

/// Returns pixels `index` [N, Q] (int64) of each channel of `pictures` [N, C, P]: [N, C, Q]. The
/// gradient sums in fixed point, 2^-40 of the largest summand or finer, and can be differentiated.
/// A non-finite summand makes the whole gradient NaN.
[[nodiscard]] at::Tensor exactly_gathered(const at::Tensor& pictures, const at::Tensor& index);

}  // namespace gangway::gan
