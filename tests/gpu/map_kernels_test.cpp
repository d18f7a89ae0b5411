// SPDX-License-Identifier: MIT
// GPU kernels for batches and maps give the bits of the same arithmetic on the host.
#include "gan/cuda/map_kernels.hpp"

#include <bit>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "gan/cuda/input_kernels.hpp"
#include "gan/random.hpp"
#include "tests/gpu/device_memory.hpp"

namespace gangway::cuda {
namespace {

class GpuMaps : public GpuTest {};

std::vector<float> normals(std::size_t count, std::int32_t number) {
  const KeyedRandom random(RandomKey{.seed = 5, .draw = number});
  std::vector<float> values((count + 3) / 4 * 4);
  for (std::size_t group = 0; group * 4 < values.size(); ++group) {
    random.normal4(group, values.data() + group * 4);
  }
  values.resize(count);
  return values;
}

std::vector<Bfloat16> rounded(const std::vector<float>& values) {
  std::vector<Bfloat16> result;
  for (const float value : values) {
    result.push_back(Bfloat16::of(value));
  }
  return result;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t bits_of(Bfloat16 value) { return value.bits; }

template <typename Value>
void expect_same_bits(const std::vector<Value>& device, const std::vector<Value>& host) {
  ASSERT_EQ(device.size(), host.size());
  for (std::size_t i = 0; i < host.size(); ++i) {
    ASSERT_EQ(bits_of(device[i]), bits_of(host[i])) << i;
  }
}

template <typename Value>
constexpr MapType kTypeOf = sizeof(Value) == 2 ? MapType::kBfloat16 : MapType::kFloat32;

TEST_F(GpuMaps, TakeInBatchesAsTheyWereRead) {
  const InputShape shape{.count = 5, .channels = 3, .pixels = 7 * 9};
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i * 37));
  }
  const std::vector<float> floats = normals(bytes.size(), 1);
  DeviceArray<std::uint8_t> device_bytes(bytes);
  DeviceArray<float> device_floats(floats);
  for (const InputOrder order : {InputOrder::kAsRead, InputOrder::kChannelsLast}) {
    for (const bool is_8_bit : {true, false}) {
      DeviceArray<float> out(bytes.size());
      launch_input({.values = is_8_bit ? static_cast<const void*>(device_bytes.data())
                                       : device_floats.data(),
                    .is_8_bit = is_8_bit,
                    .shape = shape,
                    .order = order,
                    .out = out.data()},
                   nullptr);
      std::vector<float> expected;
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        const auto from = static_cast<std::size_t>(place_as_read(shape, order, i));
        expected.push_back(is_8_bit ? input_value(bytes[from]) : input_value(floats[from]));
      }
      expect_same_bits(out.on_host(), expected);
    }
  }
}

TEST_F(GpuMaps, KeepBatchesAndTakeThemInAgain) {
  const InputShape shape{.count = 3, .channels = 2, .pixels = 35};
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i * 37));
  }
  DeviceArray<std::uint8_t> values(bytes);
  DeviceArray<std::int64_t> labels(std::vector<std::int64_t>{4, 5, 6});
  DeviceArray<std::int64_t> places(std::vector<std::int64_t>{7, 0, 2});
  DeviceArray<std::uint8_t> kept(std::vector<std::uint8_t>(8 * 70));
  DeviceArray<std::int64_t> kept_labels(std::vector<std::int64_t>(8));
  launch_keep({.values = values.data(),
               .labels = labels.data(),
               .places = places.data(),
               .shape = shape,
               .kept_values = kept.data(),
               .kept_labels = kept_labels.data()},
              nullptr);
  DeviceArray<float> out(bytes.size());
  launch_input({.values = kept.data(),
                .places = places.data(),
                .is_8_bit = true,
                .shape = shape,
                .order = InputOrder::kChannelsLast,
                .out = out.data()},
               nullptr);
  DeviceArray<std::int64_t> out_labels(std::vector<std::int64_t>(3));
  launch_kept_labels(kept_labels.data(), places.data(), 3, out_labels.data(), nullptr);
  std::vector<float> expected;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t from = place_as_read(shape, InputOrder::kChannelsLast, i);
    expected.push_back(input_value(bytes[static_cast<std::size_t>(from)]));
  }
  expect_same_bits(out.on_host(), expected);
  EXPECT_EQ(out_labels.on_host(), (std::vector<std::int64_t>{4, 5, 6}));
}

template <typename Value>
void expect_activation_of(const std::vector<Value>& x, const std::vector<Value>& gradient) {
  const std::vector<float> bias = normals(6, 3);
  for (const std::int64_t inner : {1L, 11L}) {
    const Activation activation{.elements = static_cast<std::int64_t>(x.size()),
                                .channels = 6,
                                .inner = inner,
                                .slope = 0.2F,
                                .gain = 1.41421356F};
    std::vector<Value> y(x.size());
    std::vector<Value> by_x(x.size());
    for (std::int64_t i = 0; i < activation.elements; ++i) {
      activate_element(activation, x.data(), bias.data(), i, y.data());
    }
    for (std::int64_t i = 0; i < activation.elements; ++i) {
      activate_gradient_element(activation, gradient.data(), y.data(), i, by_x.data());
    }
    DeviceArray<Value> device_x(x);
    DeviceArray<Value> device_gradient(gradient);
    DeviceArray<float> device_bias(bias);
    DeviceArray<Value> device_y(x.size());
    DeviceArray<Value> device_by_x(x.size());
    launch_activation(activation, kTypeOf<Value>, device_x.data(), device_bias.data(),
                      device_y.data(), nullptr);
    launch_activation_gradient(activation, kTypeOf<Value>, device_gradient.data(), device_y.data(),
                               device_by_x.data(), nullptr);
    expect_same_bits(device_y.on_host(), y);
    expect_same_bits(device_by_x.on_host(), by_x);
  }
}

TEST_F(GpuMaps, AreActivatedWithTheBitsOfTheHost) {
  const std::vector<float> x = normals(6 * 11 * 700, 1);
  const std::vector<float> gradient = normals(x.size(), 2);
  expect_activation_of(x, gradient);
  expect_activation_of(rounded(x), rounded(gradient));
}

template <typename Value>
void expect_resampling_of(const std::vector<Value>& x, const Resampled& to) {
  std::vector<Value> expected(static_cast<std::size_t>(to.elements()));
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    resample_element(to, x.data(), i, expected.data());
  }
  DeviceArray<Value> device_x(x);
  DeviceArray<Value> out(expected.size());
  launch_resampled(to, kTypeOf<Value>, device_x.data(), out.data(), nullptr);
  expect_same_bits(out.on_host(), expected);
}

TEST_F(GpuMaps, AreResampledWithTheBitsOfTheHost) {
  const Resampled::Shape in{.count = 3, .channels = 5, .height = 8, .width = 12};
  const std::vector<float> x = normals(3 * 5 * 8 * 12, 4);
  for (const bool channels_last : {false, true}) {
    for (const Resampled& to :
         {Resampled{.in = in, .out = {3, 5, 16, 24}, .up = 2, .padding = 2, .gain = 4.0F},
          Resampled{.in = in, .out = {3, 5, 4, 6}, .down = 2, .padding = 1},
          Resampled{.in = in, .out = {3, 5, 9, 13}, .padding = 2},
          Resampled{.in = in, .out = {3, 5, 7, 11}, .padding = 1, .gain = 4.0F}}) {
      Resampled laid_out = to;
      laid_out.channels_last = channels_last;
      expect_resampling_of(x, laid_out);
      expect_resampling_of(rounded(x), laid_out);
    }
  }
}

}  // namespace
}  // namespace gangway::cuda
