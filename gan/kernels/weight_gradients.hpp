// SPDX-License-Identifier: MIT
// Weight gradients of convolutions in float32 on CPUs with AVX2 or AVX-512: one matrix product
// whose factors are gathered from the pictures block by block, within the caches. oneDNN reaches
// half of a core's rate with kernels of 4 x 4 and stride 2 (docs/measurements.md). CPU only, no
// graph. Compute thread.
#pragma once

#include <ATen/ATen.h>

#include "gan/kernels/patches.hpp"

namespace gangway::gan {

/// Returns the gradient of a convolution's weight; of a transposed one if `small` is its input.
/// Every element is a sum in one order, by fused multiply-adds: equal bits on all such processors
/// and for any number of threads.
/// @param large   [N, narrow, H, W], channels last, float32
/// @param small   [N, wide, rows, columns of places], the same
/// @param weight  [wide, narrow, kernel, kernel], only its shape
/// @return in the weight's shape, channels last
/// @pre can_gather_weight_gradient()
[[nodiscard]] at::Tensor gathered_weight_gradient(const at::Tensor& large, const at::Tensor& small,
                                                  const at::Tensor& weight,
                                                  const KernelPlaces& places);

/// Returns whether the function supports these channels and this processor, as LibTorch sees it
/// (numerics.processor holds it to an instruction set).
[[nodiscard]] bool can_gather_weight_gradient(const at::Tensor& small, const at::Tensor& weight);

}  // namespace gangway::gan
