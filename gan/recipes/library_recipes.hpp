// SPDX-License-Identifier: MIT
// Phases of a recipe in a user's library (docs/python.md). Installed. Its row, with the networks
// that it trains, is in job/library/library_rows.hpp. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

struct LibraryRecipe {
  std::string_view recipe;  ///< name in its row
  /// Phases in the order of a step, without the fields that pipeline::completed sets.
  std::vector<pipeline::Phase> (*phases)(const Job& job) = nullptr;
};

struct LibraryRecipes {
  std::vector<LibraryRecipe> recipes;
};

}  // namespace gangway::gan

/// Defined by a library with recipes; returns the same object at every call.
extern "C" [[gnu::visibility("default")]] const gangway::gan::LibraryRecipes&
gangway_library_recipes();
