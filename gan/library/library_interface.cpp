// SPDX-License-Identifier: MIT
// A part of every user's library, not of Gangway: which headers it was compiled with
// (job/library/shared_library.hpp reads it in the file).
#include <torch/version.h>

#include "job/library/interface_version.hpp"

extern "C" {
// Not inline: the dynamic linker would take one for all libraries of a process.
[[gnu::visibility("default")]] extern const char gangway_library_interface[];
const char gangway_library_interface[] =  // NOLINT(modernize-avoid-c-arrays): read as bytes
    "gangway-library-interface " GANGWAY_LIBRARY_INTERFACE " " TORCH_VERSION;
}
