// SPDX-License-Identifier: MIT
// Checks the rule of trust (SECURITY.md). Code to run (a user's library, TorchScript), and files
// and folders that name it, must belong to the caller or root. No other user may be able to write
// or replace them. Every program checks when it reads the name of code, and again when it loads
// the code. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

/// --trust sets this variable for all programs of a command; then no file is checked.
inline constexpr const char* kTrustVariable = "GANGWAY_TRUST";

/// Returns why another user could change the file at `path`; the text begins with the place.
/// Returns empty if only the caller and root can, from now on; so call it before reading the file.
/// Follows links and checks their owners. Does not trust a path that cannot be read.
[[nodiscard]] std::string why_not_trusted(const std::filesystem::path& path);

/// Throws unless `path` is trusted. Accepts a missing file that no other user can make; the caller
/// reports it. @throws ConfigError in one line: place, owner or mode, and the remedy --trust
void require_trusted(const std::filesystem::path& path);

}  // namespace gangway
