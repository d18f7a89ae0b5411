// SPDX-License-Identifier: MIT
// Lists the files of a tar (POSIX ustar and pax, GNU's long names). Reads headers only. Used by the
// archive of tars.
#pragma once

#include <string>
#include <vector>

#include "data/archives/file_part.hpp"

namespace gangway::data {

struct TarMember {
  std::string name;  ///< a path with '/', without leading "./" or '/'
  FilePart part;
  bool is_link = false;  ///< symbolic or hard: the contents are elsewhere
};

/// Returns files and links in their order; skips folders and devices.
/// @throws ConfigError naming a tar that is damaged, cut or concatenated, has a path with "..", or
/// a sparse file
[[nodiscard]] std::vector<TarMember> read_tar(const Container& tar);

}  // namespace gangway::data
