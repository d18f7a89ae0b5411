// SPDX-License-Identifier: MIT
// Finds the supported pictures of a folder, ZIP or tar by their names. Used by the
// image archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gangway::data {

/// Returns whether the ending is that of a picture, of a supported format or not; hidden files are
/// none.
[[nodiscard]] bool is_picture(std::string_view name);

/// Separates supported pictures from other files, and remembers pictures of unsupported formats.
class NameFilter {
 public:
  [[nodiscard]] bool is_read(std::string_view name);
  /// @throws ConfigError if pictures were skipped: training must not silently use a part
  void require_all_read(const std::filesystem::path& location) const;

 private:
  std::int64_t num_unread_ = 0;
  std::string first_unread_;
};

}  // namespace gangway::data
