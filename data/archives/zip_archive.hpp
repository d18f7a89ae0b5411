// SPDX-License-Identifier: MIT
// Presents a ZIP of pictures as an archive; only this header's source includes the ZIP library.
// Called by open_image_archive.
#pragma once

#include <filesystem>
#include <memory>

#include "data/archives/image_archive.hpp"

namespace gangway::data {

/// @throws ConfigError if it is no ZIP, is damaged, or holds pictures of unsupported formats
[[nodiscard]] std::unique_ptr<ImageArchive> open_zip_archive(const std::filesystem::path& path);

}  // namespace gangway::data
