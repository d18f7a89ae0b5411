// SPDX-License-Identifier: MIT
// Cells in columns, as lines of text: what tables and lists for people are printed with. Pure.
#pragma once

#include <string>
#include <vector>

namespace gangway {

enum class Align { kLeft, kRight };

/// A line a row, columns as wide as their widest cell and two spaces apart, no spaces at the ends
/// of lines. Columns that `alignment` does not reach go to the left.
/// @pre all rows have as many cells
[[nodiscard]] std::string aligned_text(const std::vector<std::vector<std::string>>& rows,
                                       const std::vector<Align>& alignment);

}  // namespace gangway
