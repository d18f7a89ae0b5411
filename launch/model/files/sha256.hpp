// SPDX-License-Identifier: MIT
// SHA-256, by which files of others are known; checkpoints use XXH3-128. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway::launch {

/// Of the contents of a file: 64 lower-case hexadecimal digits, as `sha256sum` prints them.
/// @throws EnvironmentError naming it when it cannot be read
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace gangway::launch
