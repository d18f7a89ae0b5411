// SPDX-License-Identifier: MIT
// Handles the names of files in archives, alike for folders, ZIPs and container files. Used by the
// archives of data/archives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/archives/image_archive.hpp"

namespace gangway::data {

/// Checks that a file can be a picture, not a decompression bomb. @param packed  compressed bytes
/// @throws ConfigError if the file is too large or too densely packed
void require_bearable(std::string_view name, std::uint64_t bytes, std::uint64_t packed);

/// Sorts the entries by name (stable) and removes the folders that all of them share: an archive
/// made of one folder has no labels.
/// @return the removed prefix
[[nodiscard]] std::string tidy(std::vector<ArchiveEntry>& entries);

/// Reports that a file has changed since it was listed. @param name  of the file, in the message
/// @throws ConfigError always
[[noreturn]] void fail_changed(const std::string& name);

/// Finds the label file nearest to the images, among those in a folder above all images.
class LabelFileChoice {
 public:
  [[nodiscard]] static bool is_one(std::string_view name);
  void add(ArchiveEntry file) { found_.push_back(std::move(file)); }

  struct Chosen {
    ArchiveEntry file;  ///< with its whole name
    std::string below;
  };
  /// @param prefix  folders that all images share
  [[nodiscard]] std::optional<Chosen> nearest_to(const std::string& prefix) const;

 private:
  std::vector<ArchiveEntry> found_;
};

}  // namespace gangway::data
