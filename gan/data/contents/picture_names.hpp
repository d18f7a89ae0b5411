// SPDX-License-Identifier: MIT
// Which files of a folder, a ZIP or a tar are pictures that are read, told by their names. Used by
// the image archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gangway::data {

/// Tells the files that are read from the others, and remembers pictures among those.
class NameFilter {
 public:
  [[nodiscard]] bool is_read(std::string_view name);
  /// @throws ConfigError: training on a part of the pictures must not happen in silence.
  void require_all_read(const std::filesystem::path& location) const;

 private:
  std::int64_t num_unread_ = 0;
  std::string first_unread_;
};

}  // namespace gangway::data
