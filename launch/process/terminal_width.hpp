// SPDX-License-Identifier: MIT
// Width of the terminal of standard output, which decides if and how wide a bar is drawn.
#pragma once

namespace gangway::launch {

/// Returns the columns; 0: standard output is a file or a pipe.
[[nodiscard]] int terminal_width();

inline constexpr int kUnknownWidth = 80;  ///< of a terminal that does not report its width

}  // namespace gangway::launch
