// SPDX-License-Identifier: MIT
// Opens files to append and writes without delay. Internal to report/.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace gangway::report {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};
using UniqueFile = std::unique_ptr<std::FILE, CloseFile>;

/// @throws EnvironmentError naming the path.
[[nodiscard]] UniqueFile open_to_append(const std::filesystem::path& path);

/// Writes all bytes or none, unbuffered. @throws EnvironmentError naming the path (disk full).
void append_bytes(std::FILE* file, const std::filesystem::path& path, std::string_view bytes);

}  // namespace gangway::report
