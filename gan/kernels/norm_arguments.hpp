// SPDX-License-Identifier: MIT
// Arguments of the loops of gan/kernels/norm_loops.hpp. Any thread. No LibTorch.
#pragma once

#include <cstdint>

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

}  // namespace gangway::gan
