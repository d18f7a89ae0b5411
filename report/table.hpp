// SPDX-License-Identifier: MIT
// A small aligned text table: placement, checkpoints, doctor. Pure.
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

  /// Title line, a rule, and one line a row, columns two spaces apart, no spaces at the ends of
  /// lines.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gangway::report
