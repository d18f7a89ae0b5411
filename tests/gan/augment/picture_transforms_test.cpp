// SPDX-License-Identifier: MIT
// Compares each transformation with its definition, pixel by pixel in double precision.
#include "gan/augment/picture_transforms.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "gan/augment/exact_gather.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kSmallSide = 8;

at::Tensor pictures_of(std::int64_t count, std::int64_t channels, std::int32_t draw = 0) {
  return keyed_normal({.seed = 11, .draw = draw}, {count, channels, kSmallSide, kSmallSide},
                      at::kCPU)
      .to(at::kDouble);
}

/// Returns a pixel of the picture, which is mirrored without end.
double pixel(const at::Tensor& plane, std::int64_t row, std::int64_t column) {
  return plane[mirrored_index(row, kSmallSide)][mirrored_index(column, kSmallSide)].item<double>();
}

/// Returns the plane at twice its resolution, at half pixels (y, x), by sym6.
double fine_at(const at::Tensor& plane, std::int64_t y, std::int64_t x) {
  double sum = 0.0;
  for (std::int64_t down = 0; down < 12; ++down) {
    for (std::int64_t across = 0; across < 12; ++across) {
      if ((y + 5 - down) % 2 == 0 && (x + 5 - across) % 2 == 0) {
        sum += 2.0 * kSym6[static_cast<std::size_t>(down)] *
               kSym6[static_cast<std::size_t>(across)] *
               pixel(plane, (y + 5 - down) / 2, (x + 5 - across) / 2);
      }
    }
  }
  return sum;
}

double moved_at(const at::Tensor& plane, const Affine& inverse, std::int64_t row,
                std::int64_t column) {
  const double centre = (kSmallSide - 1) / 2.0;
  const double x = static_cast<double>(column) / 2.0 - centre;
  const double y = static_cast<double>(row) / 2.0 - centre;
  const double from_x = 2.0 * (inverse.xx * x + inverse.xy * y + inverse.x0 + centre);
  const double from_y = 2.0 * (inverse.yx * x + inverse.yy * y + inverse.y0 + centre);
  const auto left = static_cast<std::int64_t>(std::floor(from_x));
  const auto top = static_cast<std::int64_t>(std::floor(from_y));
  const double right_share = from_x - static_cast<double>(left);
  const double lower_share = from_y - static_cast<double>(top);
  const auto along = [&](std::int64_t at_row) {
    return (1.0 - right_share) * fine_at(plane, at_row, left) +
           right_share * fine_at(plane, at_row, left + 1);
  };
  return (1.0 - lower_share) * along(top) + lower_share * along(top + 1);
}

at::Tensor plainly_resampled(const at::Tensor& plane, const Affine& inverse) {
  std::array<std::array<double, 26>, 26> moved{};  // places -5 to 20
  for (std::size_t row = 0; row < moved.size(); ++row) {
    for (std::size_t column = 0; column < moved.size(); ++column) {
      moved[row][column] = moved_at(plane, inverse, static_cast<std::int64_t>(row) - 5,
                                    static_cast<std::int64_t>(column) - 5);
    }
  }
  const at::Tensor result = at::zeros({kSmallSide, kSmallSide}, at::kDouble);
  for (std::size_t row = 0; row < kSmallSide; ++row) {
    for (std::size_t column = 0; column < kSmallSide; ++column) {
      double sum = 0.0;
      for (std::size_t down = 0; down < 12; ++down) {
        for (std::size_t across = 0; across < 12; ++across) {
          sum += kSym6[down] * kSym6[across] / 2.0 * moved[2 * row + down][2 * column + across];
        }
      }
      result[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(column)] = sum;
    }
  }
  return result;
}

/// Returns a row of float64 for each value; the structs contain only numbers.
template <typename Struct>
at::Tensor rows_of(const std::vector<Struct>& values) {
  const auto columns = static_cast<std::int64_t>(sizeof(Struct) / sizeof(double));
  const at::Tensor rows =
      at::empty({static_cast<std::int64_t>(values.size()), columns}, at::kDouble);
  std::memcpy(rows.mutable_data_ptr(), values.data(), values.size() * sizeof(Struct));
  return rows;
}

double largest_difference(const at::Tensor& one, const at::Tensor& other) {
  return (one - other).abs().max().item<double>();
}

/// Compares the gradient of <transform(pictures), weights> with differences along a direction.
/// Transforms that are affine in the pictures have only rounding errors.
void expect_gradient(const std::function<at::Tensor(const at::Tensor&)>& transform,
                     const at::Tensor& pictures) {
  const at::Tensor in = pictures.clone().requires_grad_(true);
  const at::Tensor out = transform(in);
  const at::Tensor weights = keyed_normal({.seed = 12}, out.sizes(), at::kCPU).to(at::kDouble);
  (out * weights).sum().backward();
  const at::Tensor direction =
      keyed_normal({.seed = 13}, pictures.sizes(), at::kCPU).to(at::kDouble);
  const double step = 1e-3;
  const at::Tensor difference =
      (transform(pictures + direction * step) - transform(pictures - direction * step)) /
      (2.0 * step);
  const double expected = (difference * weights).sum().item<double>();
  EXPECT_NEAR((in.grad() * direction).sum().item<double>(), expected,
              1e-8 * (1.0 + std::abs(expected)));
}

TEST(ExactGather, HasTheGradientsOfGatherAndTheSameOnesInAnyOrder) {
  const at::Tensor pictures = keyed_normal({.seed = 3}, {2, 3, 16}, at::kCPU).to(at::kDouble);
  const at::Tensor index = at::randint(16, {2, 40}, at::kLong);
  const at::Tensor weights = keyed_normal({.seed = 4}, {2, 3, 40}, at::kCPU).to(at::kDouble);
  const auto sweeps = [&](const auto& gather, const at::Tensor& order) {
    const at::Tensor in = pictures.clone().requires_grad_(true);
    const at::Tensor by = weights.clone().requires_grad_(true);
    const at::Tensor out = gather(in, index.index_select(1, order));
    const at::Tensor first = torch::autograd::grad({(out * by.index_select(2, order)).sum()}, {in},
                                                   {}, true, /*create_graph=*/true)[0];
    return std::pair(first.detach(),
                     torch::autograd::grad({(first * first * pictures).sum()}, {by})[0]);
  };
  const at::Tensor forwards = at::arange(40);
  const auto plain = sweeps(
      [](const at::Tensor& in, const at::Tensor& at) {
        return in.gather(2, at.unsqueeze(1).expand({2, 3, 40}));
      },
      forwards);
  const auto exact = sweeps(exactly_gathered, forwards);
  EXPECT_LT(largest_difference(exact.first, plain.first), 1e-12);
  EXPECT_LT(largest_difference(exact.second, plain.second), 1e-11);
  const auto backwards = sweeps(exactly_gathered, forwards.flip(0));
  EXPECT_TRUE(at::equal(backwards.first, exact.first));
}

TEST(ExactGather, KeepsLargeAndSmallGradientsAndTellsWhatIsNotFinite) {
  const at::Tensor index = at::tensor({0, 0, 0, 1}, at::kLong).reshape({1, 4});
  const auto gradient = [&](const std::vector<float>& values) {
    const at::Tensor in = at::zeros({1, 1, 2}, at::kFloat).requires_grad_(true);
    (exactly_gathered(in, index) * at::tensor(values).reshape({1, 1, 4})).sum().backward();
    return std::pair(in.grad()[0][0][0].item<float>(), in.grad()[0][0][1].item<float>());
  };
  EXPECT_EQ(gradient({1e30F, 3e30F, -1e30F, 2e25F}), std::pair(3e30F, 2e25F));
  EXPECT_EQ(gradient({1e-30F, 3e-30F, -1e-30F, 2e-35F}), std::pair(3e-30F, 2e-35F));
  EXPECT_EQ(gradient({0, 0, 0, 0}), std::pair(0.0F, 0.0F));
  EXPECT_TRUE(std::isnan(gradient({1.0F, INFINITY, 0, 0}).second));
}

TEST(PictureTransforms, ResamplesAsThePaperHasIt) {
  const at::Tensor pictures = pictures_of(3, 2);
  const std::vector<Affine> inverses = {
      {.xx = 0.9, .xy = -0.3, .x0 = 0.7, .yx = 0.25, .yy = 1.1, .y0 = -0.4},
      {.xx = -0.2, .xy = 1.7, .x0 = 11.3, .yx = -1.6, .yy = 0.1, .y0 = 30.0},  // far outside
      {.x0 = 0.25}};
  const AxisFilters filters(kSmallSide, at::kCPU);
  const at::Tensor result = resampled(pictures, rows_of(inverses), filters);
  ASSERT_EQ(result.sizes(), pictures.sizes());
  for (std::int64_t k = 0; k < 3; ++k) {
    for (std::int64_t channel = 0; channel < 2; ++channel) {
      EXPECT_LE(largest_difference(
                    result[k][channel],
                    plainly_resampled(pictures[k][channel], inverses[static_cast<std::size_t>(k)])),
                1e-11);
    }
  }
  expect_gradient([&](const at::Tensor& in) { return resampled(in, rows_of(inverses), filters); },
                  pictures);
}

TEST(PictureTransforms, ResamplingWithoutAMoveGivesThePictureBackToARounding) {
  const at::Tensor pictures = pictures_of(2, 3);
  const at::Tensor kept = rows_of<Affine>({{}, {}});
  const AxisFilters filters(kSmallSide, at::kCPU);
  EXPECT_LE(largest_difference(resampled(pictures, kept, filters), pictures), 1e-11);
  const at::Tensor rounded = resampled(pictures.to(at::kFloat), kept, filters);
  ASSERT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_LE(largest_difference(rounded, pictures), 1e-5);
}

TEST(PictureTransforms, BlitsMovePixelsExactly) {
  const at::Tensor pictures = pictures_of(3, 1);
  const std::vector<Affine> inverses = {{.xx = -1.0},                                   // a flip
                                        {.xx = 0.0, .xy = -1.0, .yx = 1.0, .yy = 0.0},  // a turn
                                        {.x0 = -3.0, .y0 = 1.0}};                       // a move
  const at::Tensor result = blitted(pictures, rows_of(inverses));
  EXPECT_TRUE(at::equal(result[0], pictures[0].flip({2})));
  EXPECT_TRUE(at::equal(result[1], pictures[1].rot90(1, {1, 2})));
  EXPECT_EQ(result[2][0][2][5].item<double>(), pictures[2][0][3][2].item<double>());
  EXPECT_EQ(result[2][0][0][1].item<double>(), pictures[2][0][1][2].item<double>());  // mirrored
  expect_gradient([&](const at::Tensor& in) { return blitted(in, rows_of(inverses)); }, pictures);
}

/// Flips and turns differ, because sym6, which enlarges and shrinks the picture, is not quite
/// symmetric.
TEST(PictureTransforms, AMoveByWholePixelsIsItsResamplingToo) {
  const at::Tensor pictures = pictures_of(1, 1);
  const std::vector<Affine> inverses = {{.x0 = -3.0, .y0 = 1.0}};
  const AxisFilters filters(kSmallSide, at::kCPU);
  EXPECT_LE(largest_difference(blitted(pictures, rows_of(inverses)),
                               resampled(pictures, rows_of(inverses), filters)),
            1e-11);
}

TEST(PictureTransforms, ColorsAreAnAffineFunctionOfEachPixel) {
  const ColorMatrix colors = {
      {{0.5, 0.25, -0.125, 0.75}, {0.0, 1.5, 0.5, -0.25}, {1.0, -1.0, 0.5, 0.125}}};
  const at::Tensor pictures = pictures_of(2, 3);
  const at::Tensor result = recolored(pictures, rows_of<ColorMatrix>({{}, colors}));
  EXPECT_TRUE(at::equal(result[0], pictures[0]));
  for (std::size_t row = 0; row < 3; ++row) {
    const at::Tensor expected = pictures[1][0] * colors.row[row][0] +
                                pictures[1][1] * colors.row[row][1] +
                                pictures[1][2] * colors.row[row][2] + colors.row[row][3];
    EXPECT_LE(largest_difference(result[1][static_cast<std::int64_t>(row)], expected), 1e-12);
  }
  expect_gradient(
      [&](const at::Tensor& in) {
        return recolored(in, rows_of<ColorMatrix>({{}, colors}));
      },
      pictures);
}

TEST(PictureTransforms, AGreyPictureHasTheMeanOfTheThreeColors) {
  const ColorMatrix colors = {
      {{0.5, 0.25, -0.125, 0.75}, {0.0, 1.5, 0.5, -0.25}, {1.0, -1.0, 0.5, 0.125}}};
  const at::Tensor grey = pictures_of(1, 1);
  const at::Tensor expected =
      recolored(grey.expand({1, 3, kSmallSide, kSmallSide}), rows_of<ColorMatrix>({colors}))
          .mean(1, /*keepdim=*/true);
  EXPECT_LE(largest_difference(recolored(grey, rows_of<ColorMatrix>({colors})), expected), 1e-12);
}

TEST(PictureTransforms, FiltersBandsAlongBothAxes) {
  const at::Tensor pictures = pictures_of(2, 2);
  const std::vector<std::array<double, kNumBands>> gains = {{1.0, 1.0, 1.0, 1.0},
                                                            {0.5, 2.0, 1.5, 0.25}};
  const AxisFilters filters(kSmallSide, at::kCPU);
  const at::Tensor result = band_filtered(pictures, rows_of(gains), filters);
  EXPECT_LE(largest_difference(result[0], pictures[0]), 1e-11);
  const auto bands = band_filters();
  std::vector<double> taps(43);
  for (std::size_t band = 0; band < bands.size(); ++band) {
    for (std::size_t tap = 0; tap < taps.size(); ++tap) {
      taps[tap] += gains[1][band] * bands[band][tap];
    }
  }
  const at::Tensor plane = pictures[1][1];
  for (std::int64_t row = 0; row < kSmallSide; ++row) {
    for (std::int64_t column = 0; column < kSmallSide; ++column) {
      double sum = 0.0;
      for (std::int64_t down = 0; down < 43; ++down) {
        for (std::int64_t across = 0; across < 43; ++across) {
          sum += taps[static_cast<std::size_t>(down)] * taps[static_cast<std::size_t>(across)] *
                 pixel(plane, row + down - 21, column + across - 21);
        }
      }
      EXPECT_NEAR(result[1][1][row][column].item<double>(), sum, 1e-11);
    }
  }
  expect_gradient([&](const at::Tensor& in) { return band_filtered(in, rows_of(gains), filters); },
                  pictures);
}

TEST(PictureTransforms, CutsASquareOfHalfTheSideOut) {
  const at::Tensor pictures = at::ones({2, 1, kSmallSide, kSmallSide}, at::kDouble);
  const at::Tensor result =
      cut_out(pictures, rows_of<Cutout>({{.x = 0.5, .y = 0.5}, {.x = 0.0, .y = 1.0}}));
  EXPECT_EQ(result[0].sum().item<double>(), 64.0 - 16.0);
  EXPECT_EQ(result[0][0].narrow(0, 2, 4).narrow(1, 2, 4).sum().item<double>(), 0.0);
  EXPECT_EQ(result[1].sum().item<double>(), 64.0 - 4.0);  // the part inside the picture
  EXPECT_EQ(result[1][0][kSmallSide - 1][0].item<double>(), 0.0);
  expect_gradient(
      [&](const at::Tensor& in) {
        return cut_out(in, rows_of<Cutout>({{.x = 0.3, .y = 0.6}, {}}));
      },
      pictures_of(2, 1));
}

}  // namespace
}  // namespace gangway::gan
