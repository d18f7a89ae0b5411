// SPDX-License-Identifier: MIT
// How wide the terminal is that standard output goes to: whether a bar may be drawn, and how long.
#pragma once

namespace gangway::launch {

/// Columns; 0: it goes to a file or a pipe.
[[nodiscard]] int terminal_width();

inline constexpr int kUnknownWidth = 80;  ///< of a terminal that does not say

}  // namespace gangway::launch
