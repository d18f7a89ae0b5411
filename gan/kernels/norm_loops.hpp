// SPDX-License-Identifier: MIT
// The loops of gan/kernels/fused_norm.hpp, without LibTorch's tensors. An element's bits depend on
// its channel's elements alone; channels may be shared out among threads in any way. Any thread.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

namespace gangway::gan {

/// Features in memory: element (n, c, i) of `outer` x `channels` x `inner` ones. With channels last
/// `inner` is 1 and `outer` counts pixels.
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

/// By channel, all of them; what is not const is written.
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
