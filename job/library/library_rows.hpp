// SPDX-License-Identifier: MIT
// What a user's library adds to the tables of Gangway: families of models, as values. Installed for
// those who write one (docs/bring-your-own.md); called wherever a job file is read, any thread.
#pragma once

#include <vector>

#include "job/families/families.hpp"

namespace gangway {

struct LibraryRows {
  std::vector<ModelFamily> families;  ///< names: lower-case letters, digits and -
};

}  // namespace gangway

/// The library defines it, and gives the same object at every call. Programs without LibTorch call
/// it too, in the library's file that has no code but what it reaches: it may use no LibTorch.
extern "C" [[gnu::visibility("default")]] const gangway::LibraryRows& gangway_library_rows();
