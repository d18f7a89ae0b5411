// SPDX-License-Identifier: MIT
#include "gan/kernels/norm_loops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gan/kernels/cpu_versions.hpp"

namespace gangway::gan {
namespace loops {

/// Rows that a float32 sum covers at most; sums of doubles collect the float sums.
constexpr std::int64_t kBlock = 64;

/// Writes the statistics of one channel into `with`.
GANGWAY_INLINE void keep(double count, double mean, double squares, const NormForward& with,
                         std::int64_t channel) {
  with.mean[channel] = static_cast<float>(mean);
  with.deviation_inverse[channel] =
      static_cast<float>(1.0 / std::sqrt(squares / count + with.epsilon));
  with.variance[channel] = static_cast<float>(squares / std::max(count - 1.0, 1.0));
}

// Vectors are passed by reference because the ABI of a return depends on their width.

GANGWAY_INLINE void activate(Lanes& z, float slope) {
  z = z > 0.0F ? z : z * slope + 0.0F;  // no -0 of ReLU
}

// Channels that lie one behind the other, `inner` elements each.

/// Sums the lanes in a fixed order.
GANGWAY_INLINE float total(const Lanes& lanes) {
  std::array<float, kLanes> sums;
  std::memcpy(sums.data(), &lanes, sizeof lanes);
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) {
      sums[i] += sums[i + width];
    }
  }
  return sums[0];
}

/// Part of a channel: several entries of `outer`, or a part of one entry.
struct PlaneBlock {
  std::int64_t outer_begin;
  std::int64_t outer_end;
  std::int64_t inner_begin;
  std::int64_t inner_end;
  [[nodiscard]] std::int64_t elements() const {
    return (outer_end - outer_begin) * (inner_end - inner_begin);
  }
};

template <typename Body>
GANGWAY_INLINE void for_each_block(const FeatureShape& shape, const Body& body) {
  constexpr std::int64_t kElements = kBlock * kLanes;
  const std::int64_t planes = std::max<std::int64_t>(1, kElements / shape.inner);
  for (std::int64_t outer = 0; outer < shape.outer; outer += planes) {
    for (std::int64_t inner = 0; inner < shape.inner; inner += kElements) {
      body(PlaneBlock{outer, std::min(outer + planes, shape.outer), inner,
                      std::min(inner + kElements, shape.inner)});
    }
  }
}

/// Calls body(place, lanes) for each vector of elements of a channel in `block`.
template <typename Body>
GANGWAY_INLINE void for_each_vector(const FeatureShape& shape, std::int64_t channel,
                                    const PlaneBlock& block, const Body& body) {
  for (std::int64_t outer = block.outer_begin; outer < block.outer_end; ++outer) {
    const std::int64_t plane = (outer * shape.channels + channel) * shape.inner;
    for (std::int64_t i = block.inner_begin; i < block.inner_end; i += kLanes) {
      body(plane + i, static_cast<int>(std::min<std::int64_t>(kLanes, block.inner_end - i)));
    }
  }
}

GANGWAY_INLINE PlaneBlock whole(const FeatureShape& shape) {
  return {0, shape.outer, 0, shape.inner};
}

/// Fills the first `count` lanes, so that the zeros of the others stay zero after subtraction.
GANGWAY_INLINE void fill(float number, int count, Lanes& lanes) {
  std::array<float, kLanes> numbers{};
  for (int i = 0; i < count; ++i) {
    numbers[static_cast<std::size_t>(i)] = number;
  }
  std::memcpy(&lanes, numbers.data(), sizeof lanes);
}

template <typename T>
GANGWAY_INLINE void forward_planes(const FeatureShape& shape, std::int64_t channel,
                                   const NormForward& with, const T* x, T* y) {
  double count = 0.0;
  double mean = 0.0;
  double squares = 0.0;
  for_each_block(
      shape, [&](const PlaneBlock& block) __attribute__((always_inline)) {
        Lanes sum{};
        for_each_vector(
            shape, channel, block, [&](std::int64_t at, int lanes) __attribute__((always_inline)) {
              Lanes value;
              load(x + at, lanes, value);
              sum += value;
            });
        const auto elements = static_cast<double>(block.elements());
        const auto center = static_cast<float>(static_cast<double>(total(sum)) / elements);
        Lanes deviations{};
        for_each_vector(
            shape, channel, block, [&](std::int64_t at, int lanes) __attribute__((always_inline)) {
              Lanes value;
              load(x + at, lanes, value);
              Lanes centers = Lanes{} + center;
              if (lanes < kLanes) {
                fill(center, lanes, centers);
              }
              value -= centers;
              deviations += value * value;
            });
        const double apart = static_cast<double>(center) - mean;
        const double share = elements / (count + elements);
        mean += apart * share;
        squares += static_cast<double>(total(deviations)) + apart * apart * (count * share);
        count += elements;
      });
  keep(count, mean, squares, with, channel);
  const float scale = with.gain[channel] * with.deviation_inverse[channel];
  const float offset = with.shift[channel] - with.mean[channel] * scale;
  for_each_vector(
      shape, channel, whole(shape), [&](std::int64_t at, int lanes) __attribute__((always_inline)) {
        Lanes value;
        load(x + at, lanes, value);
        value = value * scale + offset;
        activate(value, with.slope);
        store(value, lanes, y + at);
      });
}

template <typename T>
GANGWAY_INLINE void backward_planes(const FeatureShape& shape, std::int64_t channel,
                                    const NormBackward& with, const T* x, const T* gradient,
                                    T* of_x) {
  const float center = with.mean[channel];
  const float scale = with.gain[channel] * with.deviation_inverse[channel];
  const float offset = with.shift[channel] - center * scale;
  double plain_sum = 0.0;
  double centered_sum = 0.0;
  for_each_block(
      shape, [&](const PlaneBlock& block) __attribute__((always_inline)) {
        Lanes plain{};
        Lanes centered{};
        for_each_vector(
            shape, channel, block, [&](std::int64_t at, int lanes) __attribute__((always_inline)) {
              Lanes value;
              Lanes pull;
              load(x + at, lanes, value);
              load(gradient + at, lanes, pull);
              pull = value * scale + offset > 0.0F ? pull : pull * with.slope;
              plain += pull;
              centered += pull * (value - center);
            });
        plain_sum += static_cast<double>(total(plain));
        centered_sum += static_cast<double>(total(centered));
      });
  const auto elements = static_cast<double>(shape.of_channel());
  const auto inverse = static_cast<double>(with.deviation_inverse[channel]);
  with.of_gain[channel] = static_cast<float>(centered_sum * inverse);
  with.of_shift[channel] = static_cast<float>(plain_sum);
  const auto mean_pull = static_cast<float>(plain_sum / elements);
  const auto tilt = static_cast<float>(centered_sum * inverse * inverse / elements);
  for_each_vector(
      shape, channel, whole(shape), [&](std::int64_t at, int lanes) __attribute__((always_inline)) {
        Lanes value;
        Lanes pull;
        load(x + at, lanes, value);
        load(gradient + at, lanes, pull);
        pull = value * scale + offset > 0.0F ? pull : pull * with.slope;
        value = (pull - mean_pull - (value - center) * tilt) * scale;
        store(value, lanes, of_x + at);
      });
}

// Channels last: one lane a channel.

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

}  // namespace loops

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
