// SPDX-License-Identifier: MIT
#include "gan/pictures/line_plot.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::pictures {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 200;

/// (column, row) of the pixels that have a colour.
std::set<std::pair<int, int>> pixels_of(const Raster& raster, const Color& color) {
  std::set<std::pair<int, int>> found;
  for (int row = 0; row < raster.height; ++row) {
    for (int column = 0; column < raster.width; ++column) {
      const auto at = static_cast<std::size_t>(row * raster.width + column) * 3;
      if (Color{raster.pixels[at], raster.pixels[at + 1], raster.pixels[at + 2]} == color) {
        found.insert({column, row});
      }
    }
  }
  return found;
}

TEST(LinePlot, RisesWithItsValues) {
  const Raster raster =
      draw_line_plot({.x = {1e-3, 1e-2, 1e-1}, .lines = {{.y = {0.0, 0.5, 1.0}}}}, kWidth, kHeight);
  EXPECT_EQ(raster.pixels.size(), std::size_t{kWidth} * kHeight * 3);
  const auto line = pixels_of(raster, kBlue);
  ASSERT_FALSE(line.empty());
  const auto [left, low] = *line.begin();
  const auto [right, high] = *line.rbegin();
  EXPECT_GT(right - left, kWidth / 2);
  EXPECT_GT(low - high, kHeight / 2);  // rows count downwards
}

TEST(LinePlot, MarksAValueOfItsLogarithmicAxis) {
  const LinePlot plot{.x = {1e-4, 1.0}, .lines = {}, .marks = {{.x = 1e-2}, {.x = 1.0}}};
  std::set<int> columns;
  for (const auto& [column, row] : pixels_of(draw_line_plot(plot, kWidth, kHeight), kRed)) {
    columns.insert(column);
  }
  ASSERT_EQ(columns.size(), 2U);
  const LinePlot first{.x = {1e-4, 1.0}, .lines = {}, .marks = {{.x = 1e-4}}};
  const int left = pixels_of(draw_line_plot(first, kWidth, kHeight), kRed).begin()->first;
  EXPECT_NEAR(*columns.begin(), (left + *columns.rbegin()) / 2.0, 1.0);
}

TEST(LinePlot, LeavesOutWhatIsNotFiniteAndKeepsWhatIsTooHighAtItsEdge) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LinePlot broken{.x = {1.0, 2.0, 3.0}, .lines = {{.y = {0.5, nan, 0.5}}}};
  EXPECT_TRUE(pixels_of(draw_line_plot(broken, kWidth, kHeight), kBlue).empty());
  const LinePlot high{.x = {1.0, 2.0}, .lines = {{.y = {1e30, 1e30}}}};
  const LinePlot edge{.x = {1.0, 2.0}, .lines = {{.y = {1.0, 1.0}}}};
  EXPECT_EQ(draw_line_plot(high, kWidth, kHeight).pixels,
            draw_line_plot(edge, kWidth, kHeight).pixels);
}

TEST(LinePlot, RefusesAxesWithoutLength) {
  EXPECT_THROW((void)draw_line_plot({.x = {1.0}, .lines = {}}, kWidth, kHeight), InvariantError);
  EXPECT_THROW((void)draw_line_plot({.x = {0.0, 1.0}, .lines = {}}, kWidth, kHeight),
               InvariantError);
  EXPECT_THROW((void)draw_line_plot({.x = {1.0, 2.0}, .lines = {}, .low = 1.0, .high = 1.0}, kWidth,
                                    kHeight),
               InvariantError);
}

}  // namespace
}  // namespace gangway::pictures
