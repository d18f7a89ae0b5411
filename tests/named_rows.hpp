// SPDX-License-Identifier: MIT
// Rows of the tables of model families and recipes, by their names in job files. Any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "job/families/families.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

/// Returns the row with that name. @throws InvariantError if there is none
template <typename Row>
[[nodiscard]] const Row* row_named(const std::vector<Row>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found == rows.end()) {
    throw InvariantError("no row is named " + std::string(name));
  }
  return &*found;
}

[[nodiscard]] inline const ModelFamily* family_named(std::string_view name) {
  return row_named(families(), name);
}

[[nodiscard]] inline const Recipe* recipe_named(std::string_view name) {
  return row_named(recipes(), name);
}

}  // namespace gangway
