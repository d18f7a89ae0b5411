// SPDX-License-Identifier: MIT
// Large dense layers on CPUs for small batches, where memory bandwidth limits the speed. Each pass
// reads the weight once, and backward adds its gradient in place. Compute thread.
#pragma once

#include <ATen/ATen.h>

namespace gangway::gan {

/// Computes x W^T. A backward() without a graph adds the weight's gradient directly to
/// `weight.grad()` if that exists, and calls its hooks as usual.
/// @param x       [N, in], float32 or bf16; its type is that of the product
/// @param weight  [out, in], float32, a leaf
/// @return [N, out], of the type of `x`, contiguous
[[nodiscard]] at::Tensor map_densely(const at::Tensor& x, const at::Tensor& weight);

/// Returns whether map_densely() supports these tensors and is faster for them.
[[nodiscard]] bool is_large_map(const at::Tensor& x, const at::Tensor& weight);

}  // namespace gangway::gan
