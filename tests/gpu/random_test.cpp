// SPDX-License-Identifier: MIT
// The GPU draws the CPU's bits.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "gan/cuda/augment_kernels.hpp"
#include "gan/cuda/random_kernels.hpp"
#include "tests/gpu/device_memory.hpp"

namespace gangway::cuda {
namespace {

constexpr RandomKey kKey{.seed = 7,
                         .step = 123,
                         .phase = 1,
                         .repeat = 2,
                         .pass = 1,
                         .microbatch = 5,
                         .block = 3,
                         .draw = 0};

class GpuRandom : public GpuTest {};

std::size_t num_differing_bits(const std::vector<float>& a, const std::vector<float>& b) {
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differing += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1U : 0U;
  }
  return differing;
}

TEST_F(GpuRandom, NormalsHaveTheBitsOfTheCpu) {
  for (const std::int64_t count : {1LL, 3LL, 4LL, 1023LL, 5'000'001LL}) {
    DeviceArray<float> device(static_cast<std::size_t>(count));
    fill_normal({kKey}, device.data(), count, nullptr);
    const KeyedRandom random(kKey);
    std::vector<float> expected(static_cast<std::size_t>(count + 3) / 4 * 4);
    for (std::size_t group = 0; group * 4 < expected.size(); ++group) {
      random.normal4(group, expected.data() + group * 4);
    }
    expected.resize(static_cast<std::size_t>(count));
    EXPECT_EQ(num_differing_bits(device.on_host(), expected), 0U) << count;
  }
}

TEST_F(GpuRandom, UniformsHaveTheBitsOfTheCpu) {
  constexpr std::int64_t kCount = 3'000'017;
  DeviceArray<float> device(static_cast<std::size_t>(kCount));
  fill_uniform({kKey}, device.data(), kCount, nullptr);
  const KeyedRandom random(kKey);
  std::vector<float> expected(static_cast<std::size_t>(kCount));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = random.uniform(i);
  }
  EXPECT_EQ(num_differing_bits(device.on_host(), expected), 0U);
}

TEST_F(GpuRandom, IntegersAreThoseOfTheCpu) {
  constexpr std::int64_t kCount = 100'003;
  DeviceArray<std::int64_t> device(static_cast<std::size_t>(kCount));
  fill_below({kKey}, 10, device.data(), kCount, nullptr);
  const KeyedRandom random(kKey);
  const std::vector<std::int64_t> drawn = device.on_host();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    ASSERT_EQ(drawn[i], random.below(i, 10)) << i;
  }
}

TEST_F(GpuRandom, TakesSeedAndStepFromDeviceMemory) {
  constexpr std::int64_t kCount = 1001;
  DeviceArray<StepPlace> place(1);
  DeviceArray<float> device(static_cast<std::size_t>(kCount));
  for (const std::int64_t step : {124LL, 125LL}) {
    store_step_place({.seed = 8, .step = step}, place.data(), nullptr);
    fill_uniform({kKey, place.data()}, device.data(), kCount, nullptr);
    RandomKey key = kKey;
    key.seed = 8;
    key.step = step;
    const KeyedRandom random(key);
    const std::vector<float> drawn = device.on_host();
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      ASSERT_EQ(drawn[i], random.uniform(i)) << i;
    }
  }
}

TEST_F(GpuRandom, AugmentationIsThatOfTheCpuButForARounding) {
  constexpr std::int64_t kCount = 5000;
  constexpr std::size_t kNumbers = sizeof(gan::DrawnAugmentation) / sizeof(double);
  const AugmentationSpec spec{.policy = AugmentPolicy::kAda,
                              .chosen = available_kinds(AugmentPolicy::kAda)};
  for (const std::int64_t channels : {1, 3}) {
    const gan::PictureShape shape{.channels = channels, .side = 32};
    DeviceArray<double> strength(std::vector<double>{0.5});
    DeviceArray<double> device(kCount * kNumbers);
    launch_augment_drawing({.chances = gan::chances_of(spec),
                            .strength = strength.data(),
                            .shape = shape,
                            .count = kCount},
                           {kKey}, reinterpret_cast<gan::DrawnAugmentation*>(device.data()),
                           nullptr);
    const std::vector<double> found = device.on_host();
    for (std::int64_t picture = 0; picture < kCount; ++picture) {
      const gan::DrawnAugmentation drawn =
          gan::drawn_augmentation(gan::chances_of(spec), 0.5, kKey, picture, shape);
      const auto expected = std::bit_cast<std::array<double, kNumbers>>(drawn);
      for (std::size_t i = 0; i < kNumbers; ++i) {
        ASSERT_NEAR(found[static_cast<std::size_t>(picture) * kNumbers + i], expected[i], 1e-12);
      }
    }
  }
}

TEST_F(GpuRandom, GradientsOfAugmentedPicturesAreSumsOfIntegers) {
  constexpr std::int64_t kValues = 100'000;
  constexpr std::int64_t kPixels = 7;  // several values fall on each
  const ExactSums shape{.count = 2, .channels = 3, .num_values = kValues, .num_pixels = kPixels};
  std::vector<float> values(static_cast<std::size_t>(2 * 3 * kValues));
  std::vector<std::int64_t> index(static_cast<std::size_t>(2 * kValues));
  std::vector<std::int64_t> expected(static_cast<std::size_t>(2 * 3 * kPixels));
  const double scale = 1024.0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = static_cast<std::int64_t>(i * 31 % kPixels);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.37F * static_cast<float>(i % 101) - 17.0F;
    const std::size_t plane = i / kValues;
    expected[plane * kPixels +
             static_cast<std::size_t>(index[plane / 3 * kValues + i % kValues])] +=
        std::llrint(static_cast<double>(values[i]) * scale);
  }
  DeviceArray<float> device_values(values);
  DeviceArray<std::int64_t> device_index(index);
  DeviceArray<double> device_scale(std::vector<double>{scale});
  DeviceArray<std::int64_t> sums(expected.size());
  ExactSums what = shape;
  what.values = device_values.data();
  what.index = device_index.data();
  what.scale = device_scale.data();
  launch_exact_sums(what, sums.data(), nullptr);
  EXPECT_EQ(sums.on_host(), expected);
}

}  // namespace
}  // namespace gangway::cuda
