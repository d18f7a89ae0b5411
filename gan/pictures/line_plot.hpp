// SPDX-License-Identifier: MIT
// A small plot of curves over a logarithmic axis, with numbers at its edges. Called by `gangway
// find-lr`. No LibTorch. Any thread.
#pragma once

#include <vector>

#include "gan/pictures/png.hpp"

namespace gangway::pictures {

inline constexpr Color kOrange{255, 127, 14};
inline constexpr Color kGreen{44, 160, 44};
inline constexpr Color kRed{214, 39, 40};

struct LinePlot {
  struct Line {
    std::vector<double> y;  ///< by x; what is not finite is not drawn
    Color color = kBlue;
  };
  /// A line from top to bottom.
  struct Mark {
    double x = 0.0;
    Color color = kRed;
  };
  std::vector<double> x;  ///< above 0, rising
  std::vector<Line> lines;
  std::vector<Mark> marks = {};
  double low = 0.0;   ///< of the vertical axis; lines go along its edges outside
  double high = 1.0;  ///< above `low`
};

/// On white, with a grid at the powers of ten. @pre `x` has two values at least.
[[nodiscard]] Raster draw_line_plot(const LinePlot& plot, int width, int height);

}  // namespace gangway::pictures
