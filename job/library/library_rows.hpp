// SPDX-License-Identifier: MIT
// Rows that a user's library adds to Gangway's tables: model families and recipes, as values.
// Installed for authors of libraries (docs/python.md); called wherever a job file is read, any
// thread.
#pragma once

#include <vector>

#include "job/families/families.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

struct LibraryRows {
  // Names: lower-case letters, digits and -.
  std::vector<ModelFamily> families = {};
  std::vector<Recipe> recipes = {};  ///< code of their steps: gan/recipes/library_recipes.hpp
};

}  // namespace gangway

/// Defined by the library; returns the same object at every call. Programs without LibTorch call it
/// too, so it may use no LibTorch: its file has only code that it reaches.
extern "C" [[gnu::visibility("default")]] const gangway::LibraryRows& gangway_library_rows();
