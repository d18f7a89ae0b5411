# SPDX-License-Identifier: MIT
# cmake -DROOT=checkout -DSETTINGS="compiler and options" -DOUTPUT=build_id.cpp -P WriteBuildId.cmake
# Writes the id of a build (base/build_id.hpp): a hash of every source that a program may use, and
# of the compile options. Runs at build time; OUTPUT.d tells Ninja what it has read.
set(folders base bench/store checkpoint cmake comm coordinator data gan job launch pipeline plan python report run worker)
set(patterns "")
foreach(folder IN LISTS folders)
  foreach(ending IN ITEMS hpp cpp h cu cuh proto cmake txt in)
    list(APPEND patterns "${ROOT}/${folder}/*.${ending}")
  endforeach()
endforeach()
file(GLOB_RECURSE sources ${patterns})  # sorted
list(APPEND sources "${ROOT}/CMakeLists.txt")

set(all "${SETTINGS}\n")
set(read "${OUTPUT}:")
foreach(source IN LISTS sources)
  file(SHA256 "${source}" hash)
  file(RELATIVE_PATH name "${ROOT}" "${source}")
  string(APPEND all "${name} ${hash}\n")
  string(REPLACE " " "\\ " escaped "${source}")
  string(APPEND read " \\\n  ${escaped}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 16 hash)
file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: MIT
// Written by cmake/WriteBuildId.cmake.
#include \"base/build_id.hpp\"

namespace gangway {

std::string_view build_id() { return \"${hash}\"; }

}  // namespace gangway
")
file(WRITE "${OUTPUT}.d" "${read}\n")
