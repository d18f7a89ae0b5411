// SPDX-License-Identifier: MIT
// Compiled into every user's library, not into Gangway: records the headers that it was compiled
// with. job/library/shared_library.hpp reads it from the file.
#include <torch/version.h>

#include "job/library/interface_version.hpp"

extern "C" {
// Not inline because the dynamic linker would merge it across all libraries of a process.
[[gnu::visibility("default")]] extern const char gangway_library_interface[];
const char gangway_library_interface[] =  // NOLINT(modernize-avoid-c-arrays): read as bytes
    "gangway-library-interface " GANGWAY_LIBRARY_INTERFACE " " TORCH_VERSION;
}
