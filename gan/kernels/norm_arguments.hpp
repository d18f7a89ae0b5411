// SPDX-License-Identifier: MIT
// What the loops of gan/kernels/norm_loops.hpp are given. Any thread.
#pragma once

#include <cstdint>

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

}  // namespace gangway::gan
