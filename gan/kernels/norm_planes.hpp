// SPDX-License-Identifier: MIT
// Norms of channels that lie one behind the other, `inner` elements each. Included by
// gan/kernels/norm_loops.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gan/kernels/norm_channel.hpp"

namespace gangway::gan::loops {

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

}  // namespace gangway::gan::loops
