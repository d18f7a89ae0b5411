// SPDX-License-Identifier: MIT
// What folders, ZIPs and files that hold others do alike with the names in them. Used by the
// archives of gan/data/archives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gan/data/archives/image_archive.hpp"

namespace gangway::data {

/// @param packed  bytes that it has in its archive
/// @throws ConfigError for a file that cannot be one image
void require_bearable(std::string_view name, std::uint64_t bytes, std::uint64_t packed);

/// Sorts the entries, those of equal names in the order in which they come, and takes off the
/// folders that all of them share: an archive made of one folder has no labels.
/// @return what was taken off
[[nodiscard]] std::string tidy(std::vector<ArchiveEntry>& entries);

/// @param name  of the file, in a message
/// @throws ConfigError always
[[noreturn]] void fail_changed(const std::string& name);

/// Remembers the label file that is nearest to the images, among those in a folder above all of
/// them.
class LabelFileChoice {
 public:
  [[nodiscard]] static bool is_one(std::string_view name);
  void add(ArchiveEntry file) { found_.push_back(std::move(file)); }

  struct Chosen {
    ArchiveEntry file;  ///< its whole name
    std::string below;
  };
  /// @param prefix  folders that all images share
  [[nodiscard]] std::optional<Chosen> nearest_to(const std::string& prefix) const;

 private:
  std::vector<ArchiveEntry> found_;
};

}  // namespace gangway::data
