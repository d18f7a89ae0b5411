// SPDX-License-Identifier: MIT
// Presents a folder of pictures as an archive. Called by open_image_archive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "data/archives/image_archive.hpp"
#include "data/contents/file_contents.hpp"

namespace gangway::data {

/// How the files of a folder are read; tests replace it to simulate I/O errors.
struct FolderReads {
  /// @param held  output: bytes of the file that were read, at most bytes.size()
  /// @return an errno, or 0
  std::function<int(const std::filesystem::path& path, std::span<std::uint8_t> bytes,
                    std::size_t& held)>
      read;
  std::function<void(std::chrono::seconds)> wait;  ///< called before a picture is read again
};
[[nodiscard]] FolderReads reads_of_disk();

/// @param check  as for open_image_archive
/// @throws ConfigError if it cannot be listed or holds pictures of unsupported formats
[[nodiscard]] std::unique_ptr<ImageArchive> open_folder(const std::filesystem::path& folder,
                                                        ContentsCheck* check,
                                                        FolderReads reads = reads_of_disk());

}  // namespace gangway::data
