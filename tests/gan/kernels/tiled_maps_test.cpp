// SPDX-License-Identifier: MIT
// Compares tiled convolutions, bit by bit, with a plain loop in the promised order of sums. CMake
// runs this once with AVX-512, where there is one, and once with AVX2.
#include "gan/kernels/tiled_maps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "gan/kernels/tile_product.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan::tiled_maps_test {
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
      : large(normal(0, {with.examples, with.narrow, with.height, with.width})),
        small(normal(1, {with.examples, with.wide, num_places(with.places, with.height),
                         num_places(with.places, with.width)})),
        weight(normal(2, {with.wide, with.narrow, with.places.kernel, with.places.kernel})),
        bias(normal(3, {1, with.wide, 1, 1}).flatten()) {}
  static at::Tensor normal(std::int32_t draw, at::IntArrayRef shape) {
    return keyed_normal({.seed = 7, .draw = draw}, shape, at::kCPU).contiguous(kLast);
  }
  at::Tensor large;
  at::Tensor small;
  at::Tensor weight;
  at::Tensor bias;
};

/// Adds products in chains of so many taps and channels as one tile has, then the chains.
class ChainedSum {
 public:
  ChainedSum(std::int64_t channels, float begin)
      : channels_(channels),
        taps_at_once_(std::clamp<std::int64_t>(kTileDepth / channels, 1, 32)),
        sum_(begin) {}
  /// @param factors  returns both factors of a channel
  template <typename Factors>
  void add_tap(const Factors& factors) {
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      if (channel > 0 && channel % kTileDepth == 0) {
        end_chain();
      }
      const auto [left, right] = factors(channel);
      chain_ = std::fma(left, right, chain_);
    }
    if (++taps_ % taps_at_once_ == 0) {
      end_chain();
    }
  }
  float value() {
    if (taps_ % taps_at_once_ != 0) {
      end_chain();
    }
    return sum_;
  }

 private:
  void end_chain() {
    sum_ += chain_;
    chain_ = 0.0F;
  }
  std::int64_t channels_;
  std::int64_t taps_at_once_;
  std::int64_t taps_ = 0;
  float chain_ = 0.0F;
  float sum_;
};

using Place = std::array<std::int64_t, 4>;  // example, channel, row, column

float plain_convolution(const Tensors& of, const KernelPlaces& places, const Place& at) {
  const auto large = of.large.accessor<float, 4>();
  const auto weight = of.weight.accessor<float, 4>();
  ChainedSum sum(of.large.size(1), of.bias[at[1]].item<float>());
  for (std::int64_t row = 0; row < places.kernel; ++row) {
    for (std::int64_t column = 0; column < places.kernel; ++column) {
      const std::int64_t y = at[2] * places.stride - places.padding + row;
      const std::int64_t x = at[3] * places.stride - places.padding + column;
      const bool is_inside = y >= 0 && y < large.size(2) && x >= 0 && x < large.size(3);
      sum.add_tap([&](std::int64_t channel) {
        return std::pair{is_inside ? large[at[0]][channel][y][x] : 0.0F,
                         weight[at[1]][channel][row][column]};
      });
    }
  }
  return sum.value();
}

float plain_transposed(const Tensors& of, const KernelPlaces& places, const Place& at) {
  const auto small = of.small.accessor<float, 4>();
  const auto weight = of.weight.accessor<float, 4>();
  ChainedSum sum(of.small.size(1), 0.0F);
  // Kernel elements backwards: small pixels in their order.
  for (std::int64_t row = places.kernel - 1; row >= 0; --row) {
    for (std::int64_t column = places.kernel - 1; column >= 0; --column) {
      const std::int64_t up = at[2] + places.padding - row;
      const std::int64_t left = at[3] + places.padding - column;
      if (up % places.stride != 0 || left % places.stride != 0) {
        continue;
      }
      const std::int64_t y = up / places.stride;
      const std::int64_t x = left / places.stride;
      const bool is_inside = y >= 0 && y < small.size(2) && x >= 0 && x < small.size(3);
      sum.add_tap([&](std::int64_t channel) {
        return std::pair{is_inside ? small[at[0]][channel][y][x] : 0.0F,
                         weight[channel][at[1]][row][column]};
      });
    }
  }
  return sum.value();
}

/// Compares every seventh element: primes reach every channel, row and column.
template <typename Plain>
void expect_bits(const at::Tensor& made, const Plain& plain) {
  EXPECT_TRUE(made.is_contiguous(kLast));
  const auto values = made.accessor<float, 4>();
  for (std::int64_t i = 0; i < made.numel(); i += 7) {
    const std::int64_t channels = made.size(1);
    const std::int64_t width = made.size(3);
    const Place at{i / channels / width / made.size(2), i % channels,
                   i / channels / width % made.size(2), i / channels % width};
    ASSERT_EQ(values[at[0]][at[1]][at[2]][at[3]], plain(at)) << i;
  }
}

class TiledMaps : public ::testing::TestWithParam<Case> {};

TEST_P(TiledMaps, HaveTheBitsOfAPlainLoop) {
  const Tensors of(GetParam());
  const KernelPlaces& places = GetParam().places;
  if (can_tile_map(of.weight.size(0))) {
    expect_bits(tiled_convolution(of.large, of.weight, of.bias, places),
                [&](const Place& at) { return plain_convolution(of, places, at); });
  }
  if (can_tile_map(of.weight.size(1))) {
    expect_bits(tiled_transposed_convolution(of.small, of.weight, of.large.sizes(), places),
                [&](const Place& at) { return plain_transposed(of, places, at); });
  }
}

TEST_P(TiledMaps, HaveTheSameBitsForAnyNumberOfThreads) {
  const Tensors of(GetParam());
  const auto made = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const KernelPlaces& places = GetParam().places;
    const at::Tensor map =
        can_tile_map(of.weight.size(0))
            ? tiled_convolution(of.large, of.weight, std::nullopt, places)
            : tiled_transposed_convolution(of.small, of.weight, of.large.sizes(), places);
    at::set_num_threads(before);
    return map;
  };
  EXPECT_TRUE(at::equal(made(1), made(3)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, TiledMaps,
    ::testing::Values(Case{5, 32, 64, 16, 16},  // two taps a chain
                      Case{2, 144, 16, 9, 7},   // strips of four and one vectors, odd sides
                      Case{1, 16, 160, 6, 8},   // chains of 128 and 32 channels
                      Case{3, 48, 1, 32, 32},   // thin
                      Case{2, 10, 32, 7, 9, {3, 1, 1}},    // stride 1
                      Case{1, 32, 48, 5, 5, {3, 2, 0}},    // residues of one and of two taps
                      Case{1, 16, 16, 80, 60, {5, 3, 2}},  // blocks of more than 1,024 results
                      Case{1, 16, 16, 1, 1, {1, 1, 0}}));

TEST(TiledMapsOf, OtherChannelsAreLeftToLibTorch) {
  EXPECT_TRUE(can_tile_map(64));
  EXPECT_FALSE(can_tile_map(3));
  EXPECT_FALSE(can_tile_map(24));
}

}  // namespace
}  // namespace gangway::gan::tiled_maps_test
