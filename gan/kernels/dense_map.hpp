// SPDX-License-Identifier: MIT
// Large dense layers on CPUs under small batches, where memory is what they wait for: a weight is
// read once a use, and its gradient is added where it is wanted, not made first and added later.
// Compute thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// x W^T. Its gradients have no derivatives of their own, and are for backward() alone: that of the
/// weight goes to `weight.grad()` by itself where there is one, whose hooks are called as ever.
/// @param x       [N, in], float32 or bf16, which the product is computed in
/// @param weight  [out, in], float32, a leaf
/// @return [N, out], of the type of `x`, contiguous
/// @throws InvariantError from backward, where a second derivative is asked for
[[nodiscard]] at::Tensor map_densely(const at::Tensor& x, const at::Tensor& weight);

/// Whether these are what map_densely() is for.
[[nodiscard]] bool is_large_map(const at::Tensor& x, const at::Tensor& weight);

}  // namespace gangway::gan
