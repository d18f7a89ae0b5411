// SPDX-License-Identifier: MIT
// Compares gathered weight gradients, bit by bit, with a plain loop in the promised order of sums.
// CMake runs this once with AVX-512, where there is one, and once with AVX2.
#include "gan/kernels/weight_gradients.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan::weight_gradients_test {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

struct Case {
  std::int64_t examples;
  std::int64_t wide;
  std::int64_t narrow;
  std::int64_t height;  // of the large pictures
  std::int64_t width;
  KernelPlaces places = {};
};

struct Tensors {
  explicit Tensors(const Case& with)
      : large(keyed_normal({.seed = 7}, {with.examples, with.narrow, with.height, with.width},
                           at::kCPU)
                  .contiguous(kLast)),
        small(keyed_normal({.seed = 7, .draw = 1},
                           {with.examples, with.wide, num_places(with.places, with.height),
                            num_places(with.places, with.width)},
                           at::kCPU)
                  .contiguous(kLast)),
        weight(at::empty({with.wide, with.narrow, with.places.kernel, with.places.kernel})) {}
  at::Tensor large;
  at::Tensor small;
  at::Tensor weight;
};

/// Sums blocks of lines of at least one and at most 128 places, then the blocks.
float plain_sum(const Tensors& of, const KernelPlaces& places,
                const std::array<std::int64_t, 4>& at) {
  const auto large = of.large.accessor<float, 4>();
  const auto small = of.small.accessor<float, 4>();
  const std::int64_t height = small.size(2);
  const std::int64_t lines = small.size(0) * height;
  const std::int64_t at_once = std::max<std::int64_t>(1, 128 / small.size(3));
  float sum = 0.0F;
  for (std::int64_t first = 0; first < lines; first += at_once) {
    float block = 0.0F;
    for (std::int64_t line = first; line < std::min(first + at_once, lines); ++line) {
      for (std::int64_t i = 0; i < small.size(3); ++i) {
        const std::int64_t y = line % height * places.stride - places.padding + at[2];
        const std::int64_t x = i * places.stride - places.padding + at[3];
        const bool is_inside = y >= 0 && y < large.size(2) && x >= 0 && x < large.size(3);
        block = std::fma(small[line / height][at[0]][line % height][i],
                         is_inside ? large[line / height][at[1]][y][x] : 0.0F, block);
      }
    }
    sum += block;
  }
  return sum;
}

class WeightGradients : public ::testing::TestWithParam<Case> {};

TEST_P(WeightGradients, HaveTheBitsOfAPlainLoop) {
  const Tensors of(GetParam());
  const KernelPlaces& places = GetParam().places;
  ASSERT_TRUE(can_gather_weight_gradient(of.small, of.weight));
  const at::Tensor gradient = gathered_weight_gradient(of.large, of.small, of.weight, places);
  ASSERT_EQ(gradient.sizes(), of.weight.sizes());
  EXPECT_TRUE(gradient.is_contiguous(kLast));
  const auto sums = gradient.accessor<float, 4>();
  // Primes reach every channel, kernel row and column.
  for (std::int64_t i = 0; i < gradient.numel(); i += 7) {
    const std::int64_t kernel = places.kernel;
    const std::array<std::int64_t, 4> at{i / (kernel * kernel * gradient.size(1)),
                                         i / (kernel * kernel) % gradient.size(1),
                                         i / kernel % kernel, i % kernel};
    ASSERT_EQ(sums[at[0]][at[1]][at[2]][at[3]], plain_sum(of, places, at)) << i;
  }
}

TEST_P(WeightGradients, HaveTheSameBitsForAnyNumberOfThreads) {
  const Tensors of(GetParam());
  const auto gradient = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const at::Tensor sums =
        gathered_weight_gradient(of.large, of.small, of.weight, GetParam().places);
    at::set_num_threads(before);
    return sums;
  };
  EXPECT_TRUE(at::equal(gradient(1), gradient(3)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WeightGradients,
    ::testing::Values(Case{5, 8, 64, 16, 16},             // blocks of two pictures, and one of one
                      Case{3, 4, 16, 32, 32},             // a kernel row of four taps is one strip
                      Case{9, 12, 80, 6, 8},              // strips of four and one vectors
                      Case{2, 256, 128, 8, 8},            // sums in several blocks
                      Case{2, 4, 48, 7, 9, {3, 1, 1}},    // odd sides
                      Case{1, 4, 32, 4, 300, {3, 2, 0}},  // a line is more than a block
                      Case{3, 64, 3, 32, 32},             // thin: columns of the small pictures
                      Case{3, 48, 1, 32, 32}, Case{2, 112, 20, 10, 6}));

TEST(WeightGradientsOf, OtherChannelsAndTypesAreLeftToLibTorch) {
  const at::Tensor small = at::zeros({2, 64, 8, 8}).contiguous(kLast);
  EXPECT_TRUE(can_gather_weight_gradient(small, at::zeros({64, 3, 4, 4})));
  EXPECT_FALSE(can_gather_weight_gradient(small, at::zeros({20, 18, 3, 3})));
  EXPECT_FALSE(can_gather_weight_gradient(small, at::zeros({64, 3, 3, 3})));
  EXPECT_FALSE(can_gather_weight_gradient(small.to(at::kBFloat16), at::zeros({64, 3, 4, 4})));
}

}  // namespace
}  // namespace gangway::gan::weight_gradients_test
