# SPDX-License-Identifier: MIT
# cmake -DROOT=checkout -DVERSION=0.1.0 -DOUTPUT=interface_version.hpp -P WriteInterface.cmake
# Writes what a library and its program must agree on: the version, and a hash of installed headers.
# Runs at build time, so that a changed header changes the interface without a new configuration.
include("${ROOT}/cmake/InstalledHeaders.cmake")
set(all "")
foreach(header IN LISTS GANGWAY_INSTALLED_HEADERS)
  file(SHA256 "${ROOT}/${header}" hash)
  string(APPEND all "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 12 hash)
file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: MIT
// Written by cmake/WriteInterface.cmake: the version, and a hash of the installed headers.
#pragma once

#define GANGWAY_LIBRARY_INTERFACE \"${VERSION}-${hash}\"
")
