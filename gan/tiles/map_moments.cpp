// SPDX-License-Identifier: MIT
#include "gan/tiles/map_moments.hpp"

#include <algorithm>

#include <ATen/Parallel.h>

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {
namespace {

using Doubles = double __attribute__((vector_size(8 * kLanes)));

/// Adds `lanes` channels of all pixels. @param pixel  the first one's first channel
GANGWAY_CPU_VERSIONS void add_channels(const float* pixel, std::int64_t pixels,
                                       std::int64_t channels, int lanes, double* sums,
                                       double* squares) {
  Doubles sum{};
  Doubles square{};
  for (std::int64_t i = 0; i < pixels; ++i, pixel += channels) {
    Lanes values;
    load(pixel, lanes, values);
    const Doubles wide = __builtin_convertvector(values, Doubles);
    sum += wide;
    square += wide * wide;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    sums[lane] += sum[lane];
    squares[lane] += square[lane];
  }
}

}  // namespace

void MapMoments::add(const at::Tensor& strip) {
  pixels_ += strip.size(2) * strip.size(3);
  if (!strip.is_cpu()) {
    sums_ += strip.sum({2, 3}, /*keepdim=*/false, at::kDouble).flatten().cpu();
    const at::Tensor norms = at::linalg_vector_norm(strip, 2, at::IntArrayRef({2, 3}),
                                                    /*keepdim=*/false, at::kDouble);
    squares_ += norms.square().flatten().cpu();
    return;
  }
  const at::Tensor rows = strip.contiguous(at::MemoryFormat::ChannelsLast);
  const std::int64_t channels = rows.size(1);
  const std::int64_t pixels = rows.size(2) * rows.size(3);
  for (std::int64_t example = 0; example < rows.size(0); ++example) {
    const float* first = rows.const_data_ptr<float>() + example * pixels * channels;
    double* sums = sums_.mutable_data_ptr<double>() + example * channels;
    double* squares = squares_.mutable_data_ptr<double>() + example * channels;
    at::parallel_for(0, (channels + kLanes - 1) / kLanes, 1, [&](auto begin, auto end) {
      for (std::int64_t at = begin * kLanes; at < std::min(end * kLanes, channels); at += kLanes) {
        add_channels(first + at, pixels, channels,
                     static_cast<int>(std::min<std::int64_t>(kLanes, channels - at)), sums + at,
                     squares + at);
      }
    });
  }
}

MapMoments::Scale MapMoments::scale(const at::Tensor& gain, const at::Tensor& shift,
                                    double epsilon) const {
  const std::int64_t channels = gain.numel();
  const auto of_maps = [&](const at::Tensor& values) {
    return values.to(gain.device()).reshape({-1, channels}) / static_cast<double>(pixels_);
  };
  const at::Tensor mean = of_maps(sums_);
  const at::Tensor variance = (of_maps(squares_) - mean.square()).clamp_min(0.0);
  const at::Tensor factor = gain * (variance + epsilon).rsqrt();
  const auto as_maps = [](const at::Tensor& x) {
    return x.to(at::kFloat).unsqueeze(2).unsqueeze(3);
  };
  return {as_maps(factor), as_maps(shift - mean * factor)};
}

}  // namespace gangway::gan
