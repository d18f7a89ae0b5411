// SPDX-License-Identifier: MIT
// Formats cells as aligned columns of text, for printed tables and lists. Pure.
#pragma once

#include <string>
#include <vector>

namespace gangway {

enum class Align { kLeft, kRight };

/// Returns one line per row. Columns are as wide as their widest cell and two spaces apart; lines
/// have no trailing spaces. Columns beyond `alignment` are left-aligned.
/// @pre all rows have the same number of cells
[[nodiscard]] std::string aligned_text(const std::vector<std::vector<std::string>>& rows,
                                       const std::vector<Align>& alignment);

}  // namespace gangway
