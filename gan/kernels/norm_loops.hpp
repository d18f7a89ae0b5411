// SPDX-License-Identifier: MIT
// The loops of gan/kernels/fused_norm.hpp. No LibTorch tensors. A channel's bits depend on that
// channel only, so threads may share out channels in any way. Any thread.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

namespace gangway::gan {

/// Shape of features in memory: element (n, c, i) of `outer` x `channels` x `inner`. With channels
/// last, `inner` is 1 and `outer` counts pixels.
struct FeatureShape {
  std::int64_t outer = 0;
  std::int64_t channels = 0;
  std::int64_t inner = 1;
  [[nodiscard]] std::int64_t of_channel() const { return outer * inner; }
};

/// Channels [begin, end).
struct ChannelRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Arrays [channels] of all channels; the loops write the non-const arrays.
struct NormForward {
  const float* gain;
  const float* shift;
  double epsilon;
  float slope;
  float* mean;
  float* deviation_inverse;  ///< 1 / sqrt(biased variance + epsilon)
  float* variance;           ///< unbiased
};

struct NormBackward {
  const float* gain;
  const float* shift;
  float slope;
  const float* mean;
  const float* deviation_inverse;
  float* of_gain;
  float* of_shift;
};

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
