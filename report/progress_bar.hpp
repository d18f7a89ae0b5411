// SPDX-License-Identifier: MIT
// Draws one line at the bottom of a terminal over itself. The caller makes it only where the output
// is a terminal. Used on one thread.
#pragma once

#include <iosfwd>
#include <string>

namespace gangway::report {

/// "[#######.............]  35% text", cut to `columns` characters.
[[nodiscard]] std::string progress_line(double fraction, const std::string& text, int columns);

class ProgressBar {
 public:
  /// @param stream a terminal; outlives the bar. @param columns width of the terminal.
  ProgressBar(std::ostream& stream, int columns);

  /// Draws the bar over itself. @param fraction in [0, 1], clamped.
  void draw(double fraction, const std::string& text);
  /// Removes the bar, so that a whole line can be printed; the next draw brings it back.
  void clear();

 private:
  std::ostream& stream_;
  int columns_;
  bool drawn_ = false;
};

}  // namespace gangway::report
