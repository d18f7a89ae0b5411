// SPDX-License-Identifier: MIT
#include "report/table.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/utf8.hpp"

namespace gangway::report {

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw InvariantError(
        fmt::format("table row of {} cells for {} columns", cells.size(), columns_.size()));
  }
  for (std::string& cell : cells) {
    cell = plain(cell);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::vector<std::string>> lines(2);
  std::vector<Align> alignment;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = columns_[column].title.size();
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
    }
    lines[0].push_back(columns_[column].title);
    lines[1].emplace_back(width, '-');
    alignment.push_back(columns_[column].align);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  return aligned_text(lines, alignment);
}

}  // namespace gangway::report
