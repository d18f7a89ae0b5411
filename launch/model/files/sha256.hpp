// SPDX-License-Identifier: MIT
// SHA-256, which identifies third-party files; checkpoints use XXH3-128. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway::launch {

/// Returns a file's SHA-256 as 64 lower-case hexadecimal digits, as `sha256sum` prints it.
/// @throws EnvironmentError naming a file that cannot be read
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace gangway::launch
