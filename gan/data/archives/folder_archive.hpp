// SPDX-License-Identifier: MIT
// A folder of pictures as an archive. Called by open_image_archive.
#pragma once

#include <filesystem>
#include <memory>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/contents/file_contents.hpp"

namespace gangway::data {

/// @param check  as of open_image_archive
/// @throws ConfigError: it cannot be listed, or holds pictures of kinds that are not read
[[nodiscard]] std::unique_ptr<ImageArchive> open_folder(const std::filesystem::path& folder,
                                                        ContentsCheck* check);

}  // namespace gangway::data
