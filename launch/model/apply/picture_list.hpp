// SPDX-License-Identifier: MIT
// The pictures that `gangway apply` takes, and the files that it writes. Main thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gangway::launch {

struct PictureFile {
  std::filesystem::path from;
  std::filesystem::path to;
};

/// Lists files, and the pictures in folders and their folders, by name. A result is `output`'s file
/// of the same stem and the ending .png. If that name is taken, it is the first free of stem-2,
/// stem-3 and so on.
/// @param note  takes a line about each result of another stem
/// @throws ConfigError if there is no picture, or if a result would replace a given picture
[[nodiscard]] std::vector<PictureFile> list_pictures(
    const std::vector<std::filesystem::path>& given, const std::filesystem::path& output,
    const std::function<void(const std::string&)>& note);

}  // namespace gangway::launch
