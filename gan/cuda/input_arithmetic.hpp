// SPDX-License-Identifier: MIT
// Maps elements of the network's input to values of a packed batch; one source for CPU and GPU.
// Included by .cpp and .cu files.
#pragma once

#include <cstdint>

#include "data/images/pixels.hpp"

namespace gangway::cuda {

/// Shape of a batch of images as read: [N, C, H, W], row-major.
struct InputShape {
  std::int64_t count = 1;
  std::int64_t channels = 1;
  std::int64_t pixels = 1;  ///< height * width
  [[nodiscard]] GANGWAY_HOST_DEVICE std::int64_t elements() const {
    return count * channels * pixels;
  }
};

/// Memory order of the input: as read, or channels last.
enum class InputOrder : std::uint8_t { kAsRead, kChannelsLast };

/// Returns the index in the batch as read of input element `index`.
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

/// Returns the index among kept images of the batch's value `as_read`. @param places  of the
/// batch's images there; null: the batch itself
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
