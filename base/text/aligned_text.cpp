// SPDX-License-Identifier: MIT
#include "base/text/aligned_text.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace gangway {

std::string aligned_text(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<Align>& alignment) {
  std::vector<std::string> lines(rows.size());
  const std::size_t num_columns = rows.empty() ? 0 : rows.front().size();
  for (std::size_t column = 0; column < num_columns; ++column) {
    std::size_t width = 0;
    for (const auto& row : rows) {
      width = std::max(width, row[column].size());
    }
    const bool is_right = column < alignment.size() && alignment[column] == Align::kRight;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      lines[row] += column == 0 ? "" : "  ";
      lines[row] += is_right ? fmt::format("{:>{}}", rows[row][column], width)
                             : fmt::format("{:<{}}", rows[row][column], width);
    }
  }
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace gangway
