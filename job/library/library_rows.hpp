// SPDX-License-Identifier: MIT
// What a user's library adds to the tables of Gangway: families of models and recipes, as values.
// Installed for users who write one (docs/python.md); called wherever a job file is read,
// any thread.
#pragma once

#include <vector>

#include "job/families/families.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

struct LibraryRows {
  // Names: lower-case letters, digits and -.
  std::vector<ModelFamily> families = {};
  std::vector<Recipe> recipes = {};  ///< what a step of each does: gan/recipes/library_recipes.hpp
};

}  // namespace gangway

/// The library defines it, and gives the same object at every call. Programs without LibTorch call
/// it too, in the library's file that has no code but what it reaches: it may use no LibTorch.
extern "C" [[gnu::visibility("default")]] const gangway::LibraryRows& gangway_library_rows();
