// SPDX-License-Identifier: MIT
// What a folder or a file of pictures holds, as far as the choice of a job depends on it. Main
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gangway::launch {

/// What a data set is, as far as a job depends on it.
struct PictureFacts {
  std::string source;  ///< absolute path of a folder or a file, or a pattern of tars
  std::int64_t pictures = 0;
  int side = 0;                             ///< pixels: the median of the shorter sides
  bool is_gray = false;                     ///< all that were looked at
  std::vector<std::int64_t> by_label = {};  ///< pictures a label; empty without labels
};

/// @param location  a folder, a file or a pattern of tars, as the user typed it
/// @throws ConfigError naming the first folder or file that does not exist
void require_there(const std::string& location);

/// Looks at up to 2,000 pictures, evenly spread.
/// @throws ConfigError: none is there, or one cannot be read
[[nodiscard]] PictureFacts picture_facts(const std::string& location);

}  // namespace gangway::launch
