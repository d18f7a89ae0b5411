// SPDX-License-Identifier: MIT
#include "gan/kernels/norm_loops.hpp"

#include <algorithm>

#include "gan/kernels/norm_planes.hpp"
#include "gan/kernels/norm_strips.hpp"

namespace gangway::gan {
namespace {

template <typename T>
GANGWAY_INLINE void forward_any(const FeatureShape& shape, ChannelRange channels,
                                const NormForward& with, const T* x, T* y) {
  if (shape.inner > 1) {
    for (std::int64_t channel = channels.begin; channel < channels.end; ++channel) {
      loops::forward_planes(shape, channel, with, x, y);
    }
    return;
  }
  constexpr std::int64_t kWide = std::int64_t{loops::kWideVectors} * kLanes;
  std::int64_t first = channels.begin;
  for (; first + kWide <= channels.end; first += kWide) {
    loops::forward_strip<loops::kWideVectors>(shape, first, kWide, with, x, y);
  }
  for (; first < channels.end; first += kLanes) {
    loops::forward_strip<1>(shape, first, std::min<std::int64_t>(kLanes, channels.end - first),
                            with, x, y);
  }
}

template <typename T>
GANGWAY_INLINE void backward_any(const FeatureShape& shape, ChannelRange channels,
                                 const NormBackward& with, const T* x, const T* gradient, T* of_x) {
  if (shape.inner > 1) {
    for (std::int64_t channel = channels.begin; channel < channels.end; ++channel) {
      loops::backward_planes(shape, channel, with, x, gradient, of_x);
    }
    return;
  }
  constexpr std::int64_t kWide = std::int64_t{loops::kWideVectors} * kLanes;
  std::int64_t first = channels.begin;
  for (; first + kWide <= channels.end; first += kWide) {
    loops::backward_strip<loops::kWideVectors>(shape, first, kWide, with, x, gradient, of_x);
  }
  for (; first < channels.end; first += kLanes) {
    loops::backward_strip<1>(shape, first, std::min<std::int64_t>(kLanes, channels.end - first),
                             with, x, gradient, of_x);
  }
}

}  // namespace

GANGWAY_CPU_VERSIONS void norm_forward(const FeatureShape& shape, ChannelRange channels,
                                       const NormForward& with, const float* x, float* y) {
  forward_any(shape, channels, with, x, y);
}

GANGWAY_CPU_VERSIONS void norm_forward(const FeatureShape& shape, ChannelRange channels,
                                       const NormForward& with, const c10::BFloat16* x,
                                       c10::BFloat16* y) {
  forward_any(shape, channels, with, x, y);
}

GANGWAY_CPU_VERSIONS void norm_backward(const FeatureShape& shape, ChannelRange channels,
                                        const NormBackward& with, const float* x,
                                        const float* gradient, float* of_x) {
  backward_any(shape, channels, with, x, gradient, of_x);
}

GANGWAY_CPU_VERSIONS void norm_backward(const FeatureShape& shape, ChannelRange channels,
                                        const NormBackward& with, const c10::BFloat16* x,
                                        const c10::BFloat16* gradient, c10::BFloat16* of_x) {
  backward_any(shape, channels, with, x, gradient, of_x);
}

}  // namespace gangway::gan
