// SPDX-License-Identifier: MIT
// An LMDB whose values are picture files, such as LSUN's, as an archive. Called by
// open_image_archive.
#pragma once

#include <filesystem>
#include <memory>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/contents/file_contents.hpp"

namespace gangway::data {

/// Names are the keys, or their bytes in hexadecimal digits where one of them is no text. Values of
/// less than 24 bytes, such as a count, are no pictures and left out. Nothing is written.
/// @param file  data.mdb, or what it is called
/// @param place  what data.source names
/// @param check  as of open_image_archive
/// @throws ConfigError naming the file: none, damaged, cut
[[nodiscard]] std::unique_ptr<ImageArchive> open_lmdb(const std::filesystem::path& file,
                                                      const std::filesystem::path& place,
                                                      ContentsCheck* check);

}  // namespace gangway::data
