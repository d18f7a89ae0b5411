// SPDX-License-Identifier: MIT
// Norms for channels last: one lane a channel. Included by gan/kernels/norm_loops.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gan/kernels/norm_channel.hpp"

namespace gangway::gan::loops {

/// Vectors processed at a time, so that reads cover adjacent cache lines.
constexpr int kWideVectors = 4;

/// Values of adjacent channels, one lane each.
template <int kVectors>
using Strip = std::array<Lanes, static_cast<std::size_t>(kVectors)>;
template <int kVectors, typename Number>
using PerLane = std::array<Number, static_cast<std::size_t>(kVectors) * kLanes>;

template <int kVectors>
GANGWAY_INLINE PerLane<kVectors, float> by_lane(const Strip<kVectors>& strip) {
  PerLane<kVectors, float> numbers;
  std::memcpy(numbers.data(), strip.data(), sizeof numbers);
  return numbers;
}

template <int kVectors>
GANGWAY_INLINE void to_strip(const PerLane<kVectors, float>& numbers, Strip<kVectors>& strip) {
  std::memcpy(strip.data(), numbers.data(), sizeof numbers);
}

/// Mean and sum of squared deviations of `count` elements, for each lane. join() merges two parts
/// (Chan, Golub and LeVeque, 1979, equation 2.1).
template <int kVectors>
struct Moments {
  double count = 0.0;
  PerLane<kVectors, double> mean{};
  PerLane<kVectors, double> squares{};
  GANGWAY_INLINE void join(double other_count, const Strip<kVectors>& other_mean,
                           const Strip<kVectors>& other_squares) {
    const double total = count + other_count;
    const double share = other_count / total;
    const double weight = count * share;
    const auto means = by_lane<kVectors>(other_mean);
    const auto sums = by_lane<kVectors>(other_squares);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double apart = static_cast<double>(means[i]) - mean[i];
      mean[i] += apart * share;
      squares[i] += static_cast<double>(sums[i]) + apart * apart * weight;
    }
    count = total;
  }
};

/// Loads one number a channel into the lanes of a strip.
template <int kVectors>
GANGWAY_INLINE void load_strip(const float* values, std::int64_t count, Strip<kVectors>& to) {
  for (int v = 0; v < kVectors; ++v) {
    load(values + v * kLanes, static_cast<int>(std::min<std::int64_t>(count, kLanes)),
         to[static_cast<std::size_t>(v)]);
  }
}

/// The map x * scale + offset before the activation; forward and backward share it.
template <int kVectors>
struct Affine {
  Strip<kVectors> scale;
  Strip<kVectors> offset;
  GANGWAY_INLINE Affine(const float* gain, const float* shift, const float* mean,
                        const float* deviation_inverse, std::int64_t count) {
    Strip<kVectors> center;
    Strip<kVectors> inverse;
    load_strip<kVectors>(gain, count, scale);
    load_strip<kVectors>(shift, count, offset);
    load_strip<kVectors>(mean, count, center);
    load_strip<kVectors>(deviation_inverse, count, inverse);
    for (std::size_t v = 0; v < kVectors; ++v) {
      scale[v] *= inverse[v];
      offset[v] -= center[v] * scale[v];
    }
  }
};

/// Processes kVectors * kLanes channels from `first`; only `count` of them if kVectors is 1.
template <int kVectors, typename T>
GANGWAY_INLINE void forward_strip(const FeatureShape& shape, std::int64_t first, std::int64_t count,
                                  const NormForward& with, const T* x, T* y) {
  const int lanes = static_cast<int>(std::min<std::int64_t>(count, kLanes));
  const std::int64_t stride = shape.channels;
  Moments<kVectors> moments;
  for (std::int64_t begin = 0; begin < shape.outer; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, shape.outer);
    const auto rows = static_cast<float>(end - begin);
    Strip<kVectors> mean{};
    Strip<kVectors> squares{};
    for (std::int64_t row = begin; row < end; ++row) {
      for (int v = 0; v < kVectors; ++v) {
        Lanes value;
        load(x + row * stride + first + v * kLanes, lanes, value);
        mean[static_cast<std::size_t>(v)] += value;
      }
    }
    for (Lanes& sum : mean) {
      sum /= rows;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      for (int v = 0; v < kVectors; ++v) {
        Lanes value;
        load(x + row * stride + first + v * kLanes, lanes, value);
        value -= mean[static_cast<std::size_t>(v)];
        squares[static_cast<std::size_t>(v)] += value * value;
      }
    }
    moments.join(rows, mean, squares);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto lane = static_cast<std::size_t>(i);
    keep(moments.count, moments.mean[lane], moments.squares[lane], with, first + i);
  }
  const Affine<kVectors> affine(with.gain + first, with.shift + first, with.mean + first,
                                with.deviation_inverse + first, count);
  for (std::int64_t row = 0; row < shape.outer; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const auto i = static_cast<std::size_t>(v);
      const std::int64_t at = row * stride + first + v * kLanes;
      Lanes value;
      load(x + at, lanes, value);
      value = value * affine.scale[i] + affine.offset[i];
      activate(value, with.slope);
      store(value, lanes, y + at);
    }
  }
}

template <int kVectors, typename T>
GANGWAY_INLINE void backward_strip(const FeatureShape& shape, std::int64_t first,
                                   std::int64_t count, const NormBackward& with, const T* x,
                                   const T* gradient, T* of_x) {
  const int lanes = static_cast<int>(std::min<std::int64_t>(count, kLanes));
  const std::int64_t stride = shape.channels;
  const Affine<kVectors> affine(with.gain + first, with.shift + first, with.mean + first,
                                with.deviation_inverse + first, count);
  Strip<kVectors> center;
  load_strip<kVectors>(with.mean + first, count, center);
  // Sums of the gradient before the activation, and of its product with (x - mean).
  PerLane<kVectors, double> plain_sum{};
  PerLane<kVectors, double> centered_sum{};
  for (std::int64_t begin = 0; begin < shape.outer; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, shape.outer);
    Strip<kVectors> plain{};
    Strip<kVectors> centered{};
    for (std::int64_t row = begin; row < end; ++row) {
      for (int v = 0; v < kVectors; ++v) {
        const auto i = static_cast<std::size_t>(v);
        const std::int64_t at = row * stride + first + v * kLanes;
        Lanes value;
        Lanes pull;
        load(x + at, lanes, value);
        load(gradient + at, lanes, pull);
        pull = value * affine.scale[i] + affine.offset[i] > 0.0F ? pull : pull * with.slope;
        plain[i] += pull;
        centered[i] += pull * (value - center[i]);
      }
    }
    const auto plain_part = by_lane<kVectors>(plain);
    const auto centered_part = by_lane<kVectors>(centered);
    for (std::size_t i = 0; i < plain_sum.size(); ++i) {
      plain_sum[i] += static_cast<double>(plain_part[i]);
      centered_sum[i] += static_cast<double>(centered_part[i]);
    }
  }
  const auto elements = static_cast<double>(shape.of_channel());
  PerLane<kVectors, float> mean_pulls{};
  PerLane<kVectors, float> tilts{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::int64_t channel = first + static_cast<std::int64_t>(i);
    const auto inverse = static_cast<double>(with.deviation_inverse[channel]);
    with.of_gain[channel] = static_cast<float>(centered_sum[i] * inverse);
    with.of_shift[channel] = static_cast<float>(plain_sum[i]);
    mean_pulls[i] = static_cast<float>(plain_sum[i] / elements);
    tilts[i] = static_cast<float>(centered_sum[i] * inverse * inverse / elements);
  }
  Strip<kVectors> mean_pull;
  Strip<kVectors> tilt;
  to_strip<kVectors>(mean_pulls, mean_pull);
  to_strip<kVectors>(tilts, tilt);
  for (std::int64_t row = 0; row < shape.outer; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const auto i = static_cast<std::size_t>(v);
      const std::int64_t at = row * stride + first + v * kLanes;
      Lanes value;
      Lanes pull;
      load(x + at, lanes, value);
      load(gradient + at, lanes, pull);
      pull = value * affine.scale[i] + affine.offset[i] > 0.0F ? pull : pull * with.slope;
      value = (pull - mean_pull[i] - (value - center[i]) * tilt[i]) * affine.scale[i];
      store(value, lanes, of_x + at);
    }
  }
}

}  // namespace gangway::gan::loops
