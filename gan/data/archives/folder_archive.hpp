// SPDX-License-Identifier: MIT
// A folder of pictures as an archive. Called by open_image_archive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/contents/file_contents.hpp"

namespace gangway::data {

/// How the pictures of a folder are read; a test's file system is in trouble.
struct FolderReads {
  /// @param held  of the file, at most as many bytes as there is room for
  /// @return an errno, or 0
  std::function<int(const std::filesystem::path& path, std::span<std::uint8_t> bytes,
                    std::size_t& held)>
      read;
  std::function<void(std::chrono::seconds)> wait;  ///< before a picture is read again
};
[[nodiscard]] FolderReads reads_of_disk();

/// @param check  as of open_image_archive
/// @throws ConfigError: it cannot be listed, or holds pictures of kinds that are not read
[[nodiscard]] std::unique_ptr<ImageArchive> open_folder(const std::filesystem::path& folder,
                                                        ContentsCheck* check,
                                                        FolderReads reads = reads_of_disk());

}  // namespace gangway::data
