// SPDX-License-Identifier: MIT
// at::gather along the pixels of pictures, with a gradient whose sums are exact in any order.
// LibTorch's deterministic gradient on a GPU sorts all indices. Compute and autograd threads.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Adds `values` [N, C, Q] to `sums` [N, C, P], int64, at the pixels `index` [N, Q], each times
/// `scale` [1], float64, and rounded. There in programs that compute on a GPU
/// (gan/cuda/random_on_device.cpp), null in all others.
[[gnu::weak]] void add_scaled_on_device(const at::Tensor& values, const at::Tensor& index,
                                        const at::Tensor& scale, const at::Tensor& sums);

/// Pixels `index` [N, Q], int64, of each channel of `pictures` [N, C, P]: [N, C, Q]. Its gradient
/// adds up in fixed point, 2^-40 of the largest summand or finer, and has gradients itself. What is
/// not finite makes all of the gradient NaN.
[[nodiscard]] at::Tensor exactly_gathered(const at::Tensor& pictures, const at::Tensor& index);

}  // namespace gangway::gan
