// SPDX-License-Identifier: MIT
// Pictures that lie within larger files, whole and uncompressed, as in tars. Made by
// those that find them there; read by any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gan/data/archives/file_part.hpp"
#include "gan/data/archives/image_archive.hpp"
#include "gan/data/contents/file_contents.hpp"

namespace gangway::data {

struct InnerFile {
  std::string name;  ///< a path with '/'
  std::size_t container = 0;
  FilePart part;
  std::optional<int> label = {};
};

/// What was found. Names of pictures may be equal in two containers, and not in one.
struct InnerFiles {
  std::vector<Container> containers;
  std::vector<InnerFile> pictures;
  std::vector<InnerFile> label_lists;  ///< those named dataset.json
};

/// @param place  what data.source names
/// @param check  as of open_image_archive
/// @throws ConfigError: a name twice, or unfit for a message; a file that is no one picture; labels
/// of some pictures only
[[nodiscard]] std::unique_ptr<ImageArchive> archive_of(InnerFiles found,
                                                       const std::filesystem::path& place,
                                                       ContentsCheck* check);

}  // namespace gangway::data
