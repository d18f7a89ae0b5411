// SPDX-License-Identifier: MIT
// Fused operators on feature maps, for devices with kernels of their own. Weak symbols: defined in
// programs that compute on a GPU (gan/cuda/maps_on_device.cpp), null in all others. Called by
// gan/fused_maps.hpp. Compute thread, and autograd's threads.
#pragma once

#include "gan/map_arithmetic.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Returns whether the functions below support the device and type of `x`.
[[gnu::weak]] bool has_kernels_for(const at::Tensor& x);

/// @param x,out,gradient,y  dense, in the same memory format
/// @param bias  float32 [channels]; undefined: none
[[gnu::weak]] void activate_on_device(const cuda::Activation& activation, const at::Tensor& x,
                                      const at::Tensor& bias, const at::Tensor& out);
[[gnu::weak]] void activate_gradient_on_device(const cuda::Activation& activation,
                                               const at::Tensor& gradient, const at::Tensor& y,
                                               const at::Tensor& out);
[[gnu::weak]] void resample_on_device(const cuda::Resampled& to, const at::Tensor& x,
                                      const at::Tensor& out);

}  // namespace gangway::gan
