// SPDX-License-Identifier: MIT
// The loops of gan/kernels/fused_norm.hpp. No LibTorch tensors. A channel's bits depend on that
// channel only, so threads may share out channels in any way. Any thread.
#pragma once

#include <c10/util/BFloat16.h>

#include "gan/kernels/norm_arguments.hpp"

namespace gangway::gan {

/// @param x, y  features of all channels; may be the same memory
void norm_forward(const FeatureShape& shape, ChannelRange channels, const NormForward& with,
                  const float* x, float* y);
void norm_forward(const FeatureShape& shape, ChannelRange channels, const NormForward& with,
                  const c10::BFloat16* x, c10::BFloat16* y);

/// @param gradient  by y  @param of_x  output: the gradient by x
void norm_backward(const FeatureShape& shape, ChannelRange channels, const NormBackward& with,
                   const float* x, const float* gradient, float* of_x);
void norm_backward(const FeatureShape& shape, ChannelRange channels, const NormBackward& with,
                   const c10::BFloat16* x, const c10::BFloat16* gradient, c10::BFloat16* of_x);

}  // namespace gangway::gan
