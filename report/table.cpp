// SPDX-License-Identifier: MIT
#include "report/table.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::report {
namespace {

std::string padded(const std::string& cell, std::size_t width, Align align) {
  return align == Align::kRight ? fmt::format("{:>{}}", cell, width)
                                : fmt::format("{:<{}}", cell, width);
}

std::string finished_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw InvariantError(
        fmt::format("table row of {} cells for {} columns", cells.size(), columns_.size()));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::string titles;
  std::string rule;
  std::vector<std::string> lines(rows_.size());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const Column& head = columns_[column];
    std::size_t width = head.title.size();
    for (const auto& row : rows_) {
      width = std::max(width, row[column].size());
    }
    const std::string gap = column == 0 ? "" : "  ";
    titles += gap + padded(head.title, width, head.align);
    rule += gap + std::string(width, '-');
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      lines[row] += gap + padded(rows_[row][column], width, head.align);
    }
  }
  std::string result = finished_line(titles) + rule + "\n";
  for (const std::string& line : lines) {
    result += finished_line(line);
  }
  return result;
}

}  // namespace gangway::report
