// SPDX-License-Identifier: MIT
// The loops of gan/kernels/fused_norm.hpp, without LibTorch's tensors. An element's bits depend on
// its channel's elements alone; channels may be shared out among threads in any way. Any thread.
#pragma once

#include <c10/util/BFloat16.h>

#include "gan/kernels/norm_arguments.hpp"

namespace gangway::gan {

/// @param x, y  all channels of them; the same may be both
void norm_forward(const FeatureShape& shape, ChannelRange channels, const NormForward& with,
                  const float* x, float* y);
void norm_forward(const FeatureShape& shape, ChannelRange channels, const NormForward& with,
                  const c10::BFloat16* x, c10::BFloat16* y);

/// @param gradient  to y  @param of_x  written
void norm_backward(const FeatureShape& shape, ChannelRange channels, const NormBackward& with,
                   const float* x, const float* gradient, float* of_x);
void norm_backward(const FeatureShape& shape, ChannelRange channels, const NormBackward& with,
                   const c10::BFloat16* x, const c10::BFloat16* gradient, c10::BFloat16* of_x);

}  // namespace gangway::gan
