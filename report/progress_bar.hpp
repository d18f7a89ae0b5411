// SPDX-License-Identifier: MIT
// Draws a progress bar on the last line of a terminal. The caller makes it only if the output is a
// terminal. One thread.
#pragma once

#include <iosfwd>
#include <string>

namespace gangway::report {

/// Returns "[#######.............]  35% text", cut to `columns` characters.
[[nodiscard]] std::string progress_line(double fraction, const std::string& text, int columns);

class ProgressBar {
 public:
  /// @param stream  a terminal; outlives the bar. @param columns  width of the terminal.
  ProgressBar(std::ostream& stream, int columns);

  /// Redraws the bar in place. @param fraction  in [0, 1], clamped.
  void draw(double fraction, const std::string& text);
  /// Erases the bar, so that the caller can print a line; the next draw() restores it.
  void clear();

 private:
  std::ostream& stream_;
  int columns_;
  bool drawn_ = false;
};

}  // namespace gangway::report
