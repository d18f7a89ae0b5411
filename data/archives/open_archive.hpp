// SPDX-License-Identifier: MIT
// Opens the archive that data.source or a command names. Called where pictures are opened.
#pragma once

#include <filesystem>
#include <memory>

#include "data/archives/image_archive.hpp"
#include "data/contents/file_contents.hpp"

namespace gangway::data {

/// @param location  a folder of pictures or of tars; a ZIP; a tar; or several tars, as
/// "faces-{0000..0007}.tar"
/// @throws ConfigError: `location` is missing, unreadable, damaged, of no supported kind, or holds
/// pictures of unsupported formats such as .gif
[[nodiscard]] std::unique_ptr<ImageArchive> open_image_archive(
    const std::filesystem::path& location, ContentsCheck* check = nullptr);

}  // namespace gangway::data
