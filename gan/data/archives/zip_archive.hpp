// SPDX-License-Identifier: MIT
// A ZIP of pictures as an archive, of which no file but this one's source knows the library. Called
// by open_image_archive.
#pragma once

#include <filesystem>
#include <memory>

#include "gan/data/archives/image_archive.hpp"

namespace gangway::data {

/// @throws ConfigError: it is no ZIP, is damaged, or holds pictures of kinds that are not read
[[nodiscard]] std::unique_ptr<ImageArchive> open_zip_archive(const std::filesystem::path& path);

}  // namespace gangway::data
