// SPDX-License-Identifier: MIT
// Archive of pictures stored uncompressed within larger files, such as tars. Created by the readers
// of those files; any thread reads it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/archives/file_part.hpp"
#include "data/archives/image_archive.hpp"
#include "data/contents/file_contents.hpp"

namespace gangway::data {

struct InnerFile {
  std::string name;  ///< a path with '/'
  std::size_t container = 0;
  FilePart part;
  std::optional<int> label = {};
};

/// Pictures found in containers. Two containers may hold equal names, one container may not.
struct InnerFiles {
  std::vector<Container> containers;
  std::vector<InnerFile> pictures;
  std::vector<InnerFile> label_lists;  ///< files named dataset.json
};

/// @param place  value of data.source
/// @param check  as for open_image_archive
/// @throws ConfigError: a duplicate or unprintable name; a file that is not one picture; labels for
/// some pictures only
[[nodiscard]] std::unique_ptr<ImageArchive> archive_of(InnerFiles found,
                                                       const std::filesystem::path& place,
                                                       ContentsCheck* check);

}  // namespace gangway::data
