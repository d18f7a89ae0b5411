// SPDX-License-Identifier: MIT
#include "report/progress_bar.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>

#include <fmt/format.h>

namespace gangway::report {
namespace {

constexpr std::size_t kBarCells = 30;

}  // namespace

std::string progress_line(double fraction, const std::string& text, int columns) {
  const double part = fraction > 0 ? std::min(fraction, 1.0) : 0.0;  // NaN: 0
  const auto full = static_cast<std::size_t>(part * static_cast<double>(kBarCells));
  const std::string line =
      fmt::format("[{}{}] {:>3}% {}", std::string(full, '#'), std::string(kBarCells - full, '.'),
                  static_cast<int>(part * 100), text);
  return line.substr(0, static_cast<std::size_t>(std::max(columns, 0)));
}

ProgressBar::ProgressBar(std::ostream& stream, int columns) : stream_(stream), columns_(columns) {}

void ProgressBar::draw(double fraction, const std::string& text) {
  // The last column stays free, because some terminals wrap the line after it.
  stream_ << '\r' << progress_line(fraction, text, columns_ - 1) << "\x1b[K"
          << std::flush;  // erase to the end of the line
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) {
    stream_ << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }
}

}  // namespace gangway::report
