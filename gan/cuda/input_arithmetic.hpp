// SPDX-License-Identifier: MIT
// Which value of a packed batch an element of the network's input is: the same source for CPU and
// GPU. Included by .cpp and .cu files.
#pragma once

#include <cstdint>

#include "gan/data/images/pixels.hpp"

namespace gangway::cuda {

/// A batch of images as it was read: [N, C, H, W], row-major.
struct InputShape {
  std::int64_t count = 1;
  std::int64_t channels = 1;
  std::int64_t pixels = 1;  ///< height * width
  [[nodiscard]] GANGWAY_HOST_DEVICE std::int64_t elements() const {
    return count * channels * pixels;
  }
};

/// How the input lies in memory: as it was read, or each pixel's channels beside one another.
enum class InputOrder : std::uint8_t { kAsRead, kChannelsLast };

/// The place in the batch as it was read of element `index` of the input.
[[nodiscard]] GANGWAY_HOST_DEVICE inline std::int64_t place_as_read(const InputShape& shape,
                                                                    InputOrder order,
                                                                    std::int64_t index) {
  if (order == InputOrder::kAsRead) {
    return index;
  }
  const std::int64_t channel = index % shape.channels;
  const std::int64_t pixel = index / shape.channels % shape.pixels;
  const std::int64_t image = index / shape.channels / shape.pixels;
  return (image * shape.channels + channel) * shape.pixels + pixel;
}

/// The place among kept images of what lies at `as_read` of a batch. @param places  of each of its
/// images there; null: the batch itself is meant
[[nodiscard]] GANGWAY_HOST_DEVICE inline std::int64_t place_kept(const InputShape& shape,
                                                                 const std::int64_t* places,
                                                                 std::int64_t as_read) {
  const std::int64_t values = shape.channels * shape.pixels;
  return places == nullptr ? as_read : places[as_read / values] * values + as_read % values;
}

[[nodiscard]] GANGWAY_HOST_DEVICE inline float input_value(std::uint8_t value) {
  return data::to_unit(value);
}
[[nodiscard]] GANGWAY_HOST_DEVICE inline float input_value(float value) { return value; }

}  // namespace gangway::cuda
