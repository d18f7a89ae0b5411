// SPDX-License-Identifier: MIT
#include "gan/pictures/line_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/pictures/digits.hpp"

namespace gangway::pictures {
namespace {

constexpr Color kBlack{0, 0, 0};
constexpr Color kGridGray{225, 225, 225};
constexpr int kScale = 2;  // of digits
constexpr int kLetter = kDigitStep * kScale;
constexpr int kLeftMargin = 8 * kLetter;
constexpr int kOtherMargin = 2 * kDigitHeight * kScale;
constexpr int kGap = 4;  // between a number and what it stands at

class LinePlotCanvas {
 public:
  LinePlotCanvas(const LinePlot& plot, int width, int height)
      : plot_(plot),
        raster_{.height = height, .width = width, .channels = 3, .pixels = {}},
        first_(std::log10(plot.x.front())),
        last_(std::log10(plot.x.back())) {
    raster_.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3,
                          255);
  }

  [[nodiscard]] Raster draw() && {
    draw_grid();
    for (const LinePlot::Mark& mark : plot_.marks) {
      const int column = column_of(mark.x);
      draw_segment({column, top()}, {column, bottom()}, mark.color);
    }
    for (const LinePlot::Line& line : plot_.lines) {
      draw_curve(line);
    }
    return std::move(raster_);
  }

 private:
  [[nodiscard]] int left() const { return kLeftMargin; }
  [[nodiscard]] int right() const { return raster_.width - kOtherMargin; }
  [[nodiscard]] int top() const { return kOtherMargin; }
  [[nodiscard]] int bottom() const { return raster_.height - kOtherMargin; }

  [[nodiscard]] int column_of(double x) const {
    const double share = std::clamp((std::log10(x) - first_) / (last_ - first_), 0.0, 1.0);
    return left() + static_cast<int>(std::lround(share * (right() - left())));
  }
  [[nodiscard]] int row_of(double y) const {
    const double share = std::clamp((y - plot_.low) / (plot_.high - plot_.low), 0.0, 1.0);
    return bottom() - static_cast<int>(std::lround(share * (bottom() - top())));
  }

  void set(Pixel at, const Color& color) {
    if (at.column >= 0 && at.column < raster_.width && at.row >= 0 && at.row < raster_.height) {
      const auto index =
          (static_cast<std::size_t>(at.row) * static_cast<std::size_t>(raster_.width) +
           static_cast<std::size_t>(at.column)) *
          3;
      std::ranges::copy(color, raster_.pixels.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  void draw_segment(Pixel from, Pixel to, const Color& color) {
    const int steps = std::max({std::abs(to.column - from.column), std::abs(to.row - from.row), 1});
    for (int step = 0; step <= steps; ++step) {
      set({from.column + (to.column - from.column) * step / steps,
           from.row + (to.row - from.row) * step / steps},
          color);
    }
  }

  void draw_curve(const LinePlot::Line& line) {
    for (std::size_t i = 0; i + 1 < std::min(plot_.x.size(), line.y.size()); ++i) {
      if (std::isfinite(line.y[i]) && std::isfinite(line.y[i + 1])) {
        const Pixel from{column_of(plot_.x[i]), row_of(line.y[i])};
        const Pixel to{column_of(plot_.x[i + 1]), row_of(line.y[i + 1])};
        draw_segment(from, to, line.color);
        draw_segment({from.column, from.row + 1}, {to.column, to.row + 1}, line.color);
      }
    }
  }

  void write_before_axis(double y) {
    const std::string text = fmt::format("{:.3g}", y);
    write_digits(raster_, text,
                 {left() - kGap - static_cast<int>(text.size()) * kLetter,
                  row_of(y) - kDigitHeight * kScale / 2},
                 kScale);
  }

  void draw_grid() {
    const auto first = static_cast<int>(std::ceil(first_ - 1e-9));
    const auto last = static_cast<int>(std::floor(last_ + 1e-9));
    for (int power = first; power <= last; ++power) {
      const int column = column_of(std::pow(10.0, power));
      draw_segment({column, top()}, {column, bottom()}, kGridGray);
      const std::string text = fmt::format("1e{}", power);
      write_digits(raster_, text,
                   {column - static_cast<int>(text.size()) * kLetter / 2, bottom() + kGap}, kScale);
    }
    draw_segment({left(), top()}, {left(), bottom()}, kBlack);
    draw_segment({left(), bottom()}, {right(), bottom()}, kBlack);
    for (const double share : {0.0, 0.5, 1.0}) {
      write_before_axis(plot_.low + share * (plot_.high - plot_.low));
    }
  }

  const LinePlot& plot_;
  Raster raster_;
  double first_;  // logarithms
  double last_;
};

}  // namespace

Raster draw_line_plot(const LinePlot& plot, int width, int height) {
  if (plot.x.size() < 2 || plot.x.front() <= 0.0 || plot.x.back() <= plot.x.front() ||
      plot.high <= plot.low) {
    throw InvariantError(fmt::format("a plot of {} values between {} and {} has no axes",
                                     plot.x.size(), plot.low, plot.high));
  }
  return LinePlotCanvas(plot, width, height).draw();
}

}  // namespace gangway::pictures
