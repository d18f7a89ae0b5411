// SPDX-License-Identifier: MIT
// Operators on feature maps that a device has kernels of its own for, where LibTorch takes several.
// Weak: there in programs that compute on a GPU (gan/cuda/maps_on_device.cpp), null in all others.
// Blocks ask through gan/fused_maps.hpp. Compute thread, and autograd's.
#pragma once

#include "gan/map_arithmetic.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Whether these take maps like `x`: where they lie and what they are made of.
[[gnu::weak]] bool has_kernels_for(const at::Tensor& x);

/// @param x,out,gradient,y  dense, laid out alike
/// @param bias  float32 [channels]; undefined: none
[[gnu::weak]] void activate_on_device(const cuda::Activation& activation, const at::Tensor& x,
                                      const at::Tensor& bias, const at::Tensor& out);
[[gnu::weak]] void activate_gradient_on_device(const cuda::Activation& activation,
                                               const at::Tensor& gradient, const at::Tensor& y,
                                               const at::Tensor& out);
[[gnu::weak]] void resample_on_device(const cuda::Resampled& to, const at::Tensor& x,
                                      const at::Tensor& out);

}  // namespace gangway::gan
