// SPDX-License-Identifier: MIT
// Formats an aligned text table. Called by placement, checkpoints and doctor. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/text/aligned_text.hpp"

namespace gangway::report {

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// @pre as many cells as columns. @throws InvariantError otherwise.
  void add_row(std::vector<std::string> cells);

  /// Returns title line, rule and one line per row; two spaces between columns, no trailing spaces.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gangway::report
