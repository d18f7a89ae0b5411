// SPDX-License-Identifier: MIT
// Arithmetic of fused operators on feature maps, one source for CPU and GPU. It uses IEEE
// operations only, in a fixed order, with contraction off. Included by .cpp and .cu files. No
// LibTorch.
#pragma once

#include <cstdint>
#include <cstring>

#include "gan/random.hpp"  // GANGWAY_HOST_DEVICE

namespace gangway::cuda {

/// Type of a map's elements; sums and products are float32.
enum class MapType : std::uint8_t { kFloat32, kBfloat16 };

/// An element of type bfloat16. Rounds to nearest, ties to even; every NaN becomes the quiet NaN.
struct Bfloat16 {
  std::uint16_t bits = 0;

  GANGWAY_HOST_DEVICE static Bfloat16 of(float value) {
    std::uint32_t word = 0;
    memcpy(&word, &value, sizeof word);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) {
      return {0x7FC0U};
    }
    return {static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U)};
  }
  [[nodiscard]] GANGWAY_HOST_DEVICE float value() const {
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16U;
    float result = 0.0F;
    memcpy(&result, &word, sizeof result);
    return result;
  }
};

GANGWAY_HOST_DEVICE inline float loaded(float value) { return value; }
GANGWAY_HOST_DEVICE inline float loaded(Bfloat16 value) { return value.value(); }
GANGWAY_HOST_DEVICE inline void store(float value, float& out) { out = value; }
GANGWAY_HOST_DEVICE inline void store(float value, Bfloat16& out) { out = Bfloat16::of(value); }

/// Settings of leaky ReLU: (x + bias), times `slope` if not positive, times `gain`. Maps are in
/// memory order: element i belongs to channel i / inner % channels.
struct Activation {
  std::int64_t elements = 0;
  std::int64_t channels = 1;
  std::int64_t inner = 1;  ///< pixels of a map; 1 if channels are last
  float slope = 1.0F;
  float gain = 1.0F;
};

/// Computes element `i`. `bias` is float32 [channels]; null means no bias.
template <typename Value>
GANGWAY_HOST_DEVICE void activate_element(const Activation& activation, const Value* x,
                                          const float* bias, std::int64_t i, Value* out) {
  float value = loaded(x[i]);
  if (bias != nullptr) {
    value = value + bias[i / activation.inner % activation.channels];
  }
  value = value > 0.0F ? value : value * activation.slope;
  store(value * activation.gain, out[i]);
}

/// Turns the gradient by `y`, an output of activate_element, into the gradient by x.
template <typename Value>
GANGWAY_HOST_DEVICE void activate_gradient_element(const Activation& activation,
                                                   const Value* gradient, const Value* y,
                                                   std::int64_t i, Value* out) {
  const float value = loaded(gradient[i]) * activation.gain;
  store(loaded(y[i]) > 0.0F ? value : value * activation.slope, out[i]);
}

/// Resampling of maps (upfirdn; Karras et al., 2020). Inserts `up` - 1 zeros after each pixel and
/// pads with zeros. Smooths by the outer product of [1, 3, 3, 1] / 8 with itself. Multiplies by
/// `gain` and keeps every `down`-th pixel.
struct Resampled {
  struct Shape {
    std::int64_t count = 1;
    std::int64_t channels = 1;
    std::int64_t height = 1;
    std::int64_t width = 1;
  };
  Shape in;
  Shape out;
  bool channels_last = false;  ///< memory format of both
  std::int64_t up = 1;
  std::int64_t down = 1;
  std::int64_t padding = 0;  ///< zeros before the first pixel
  float gain = 1.0F;

  [[nodiscard]] GANGWAY_HOST_DEVICE std::int64_t elements() const {
    return out.count * out.channels * out.height * out.width;
  }
};

/// Computes output element `i`, in memory order.
template <typename Value>
GANGWAY_HOST_DEVICE void resample_element(const Resampled& to, const Value* x, std::int64_t i,
                                          Value* out) {
  const std::int64_t inner = to.channels_last ? i / to.out.channels : i;
  const std::int64_t column = inner % to.out.width;
  const std::int64_t row = inner / to.out.width % to.out.height;
  const std::int64_t rest = inner / to.out.width / to.out.height;
  const std::int64_t channel = to.channels_last ? i % to.out.channels : rest % to.out.channels;
  const std::int64_t image = to.channels_last ? rest : rest / to.out.channels;
  const std::int64_t step = to.channels_last ? to.in.channels : 1;  // from pixel to pixel
  const Value* const map =
      to.channels_last ? x + image * to.in.height * to.in.width * to.in.channels + channel
                       : x + (image * to.in.channels + channel) * to.in.height * to.in.width;
  float sum = 0.0F;
  for (std::int64_t down = 0; down < 4; ++down) {
    const std::int64_t y = row * to.down + down - to.padding;
    if (y < 0 || y % to.up != 0 || y / to.up >= to.in.height) {
      continue;
    }
    for (std::int64_t across = 0; across < 4; ++across) {
      const std::int64_t z = column * to.down + across - to.padding;
      if (z < 0 || z % to.up != 0 || z / to.up >= to.in.width) {
        continue;
      }
      const float by_row = down == 0 || down == 3 ? 0.125F : 0.375F;
      const float by_column = across == 0 || across == 3 ? 0.125F : 0.375F;
      const float tap = by_row * by_column * to.gain;
      sum = sum + loaded(map[(y / to.up * to.in.width + z / to.up) * step]) * tap;
    }
  }
  store(sum, out[i]);
}

}  // namespace gangway::cuda
