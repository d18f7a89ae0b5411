// SPDX-License-Identifier: MIT
#include "data/images/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gangway::data {
namespace {

/// Radius of the cubic, in pixels of the larger scale; it is zero beyond.
constexpr double kRadius = 2.0;

double cubic(double x) {
  const double distance = std::abs(x);
  if (distance < 1.0) {
    return (1.5 * distance - 2.5) * distance * distance + 1.0;
  }
  return distance < kRadius ? ((-0.5 * distance + 2.5) * distance - 4.0) * distance + 2.0 : 0.0;
}

/// The source pixels of one result pixel, and their weights, which sum to 1.
struct Window {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Window> make_windows(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double stretch = std::max(scale, 1.0);
  std::vector<Window> windows(static_cast<std::size_t>(to));
  std::vector<double> weights;
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    // As Pillow does. NOLINTBEGIN(bugprone-incorrect-roundings)
    const int first = std::max(0, static_cast<int>(center - kRadius * stretch + 0.5));
    const int end = std::min(from, static_cast<int>(center + kRadius * stretch + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    weights.clear();
    double sum = 0.0;
    for (int pixel = first; pixel < end; ++pixel) {
      weights.push_back(cubic((pixel + 0.5 - center) / stretch));
      sum += weights.back();
    }
    Window& window = windows[static_cast<std::size_t>(i)];
    window.first = first;
    for (const double weight : weights) {
      window.weights.push_back(static_cast<float>(weight / sum));
    }
  }
  return windows;
}

/// Adds weighted rows that lie `stride` values apart. Each value sums from the first row to the
/// last, so vectorisation changes no bit.
template <typename Value>
void add_rows(const Value* row, std::size_t stride, const std::vector<float>& weights,
              std::span<float> sum) {
  std::ranges::fill(sum, 0.0F);
  for (const float weight : weights) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += weight * static_cast<float>(row[i]);
    }
    row += stride;
  }
}

std::uint8_t to_byte(float value) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and Pillow does so
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
}

/// Where the centred square begins.
struct Crop {
  int square;
  int top;
  int left;
};

Pixels cut_out(const Pixels& image, const Crop& crop) {
  Pixels result = make_pixels(crop.square, crop.square, image.channels);
  const std::size_t row_bytes = result.offset(1, 0);
  for (int row = 0; row < crop.square; ++row) {
    std::copy_n(image.values.data() + image.offset(crop.top + row, crop.left), row_bytes,
                result.values.data() + result.offset(row, 0));
  }
  return result;
}

}  // namespace

Pixels fit_square(const Pixels& image, int side) {
  const int square = std::min(image.height, image.width);
  const Crop crop{
      .square = square, .top = (image.height - square) / 2, .left = (image.width - square) / 2};
  if (square == side) {
    return cut_out(image, crop);
  }
  const std::vector<Window> windows = make_windows(square, side);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t column_size = static_cast<std::size_t>(side) * channels;
  // First reduces to `side` rows, stored as columns; then reduces these, which lie side by side in
  // memory as the rows did.
  std::vector<float> row(static_cast<std::size_t>(square) * channels);
  std::vector<float> columns(static_cast<std::size_t>(square) * column_size);
  for (std::size_t y = 0; y < windows.size(); ++y) {
    const std::uint8_t* first =
        image.values.data() + image.offset(crop.top + windows[y].first, crop.left);
    add_rows(first, image.offset(1, 0), windows[y].weights, row);
    for (std::size_t x = 0; x < static_cast<std::size_t>(square); ++x) {
      std::copy_n(row.data() + x * channels, channels,
                  columns.data() + x * column_size + y * channels);
    }
  }
  Pixels result = make_pixels(side, side, image.channels);
  std::vector<float> column(column_size);
  for (std::size_t x = 0; x < windows.size(); ++x) {
    const float* first = columns.data() + static_cast<std::size_t>(windows[x].first) * column_size;
    add_rows(first, column_size, windows[x].weights, column);
    for (std::size_t i = 0; i < column_size; ++i) {
      const std::size_t y = i / channels;
      result.values[y * column_size + x * channels + i % channels] = to_byte(column[i]);
    }
  }
  return result;
}

}  // namespace gangway::data
