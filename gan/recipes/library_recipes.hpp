// SPDX-License-Identifier: MIT
// What a step of a recipe of a user's library consists of (docs/python.md). Installed. Its
// row, with the networks that it trains, is in job/library/library_rows.hpp. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

struct LibraryRecipe {
  std::string_view recipe;  ///< as its row has it
  /// In the order of a step, with all but what pipeline::completed fills in.
  std::vector<pipeline::Phase> (*phases)(const Job& job) = nullptr;
};

struct LibraryRecipes {
  std::vector<LibraryRecipe> recipes;
};

}  // namespace gangway::gan

/// The library defines it where it has recipes, and gives the same object at every call.
extern "C" [[gnu::visibility("default")]] const gangway::gan::LibraryRecipes&
gangway_library_recipes();
