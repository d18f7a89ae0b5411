// SPDX-License-Identifier: MIT
// Where the files of a tar lie: POSIX ustar and pax, and GNU's long names. Reads the headers alone.
// Used by the archive of tars.
#pragma once

#include <string>
#include <vector>

#include "gan/data/archives/file_part.hpp"

namespace gangway::data {

struct TarMember {
  std::string name;  ///< a path with '/', without "./", and as unpacked: without a '/' in front
  FilePart part;
  bool is_link = false;  ///< symbolic or hard: the contents are elsewhere
};

/// Files and links in the order in which they lie; folders and devices are left out.
/// @throws ConfigError naming the tar: damaged, cut, several behind one another, a path with "..",
/// a sparse file
[[nodiscard]] std::vector<TarMember> read_tar(const Container& tar);

}  // namespace gangway::data
