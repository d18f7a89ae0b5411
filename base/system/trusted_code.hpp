// SPDX-License-Identifier: MIT
// The one rule of trust (SECURITY.md): a file whose code this process is about to run (a user's
// library, TorchScript), and a file or folder that names such code, belong to the caller or root,
// and no other user can write or replace them. Every program checks where code is named, and again
// where it is loaded. Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

/// Set for all of a command's programs by its --trust: no file is looked at.
inline constexpr const char* kTrustVariable = "GANGWAY_TRUST";

/// Why another user could change what lies at `path`, in words that begin with the place; empty:
/// only the caller and root can, from now on. So call it before the file is read. Links are
/// followed, and their owners count; a path that cannot be read is not trusted.
[[nodiscard]] std::string why_not_trusted(const std::filesystem::path& path);

/// @throws ConfigError of one line: place, owner or mode, and the remedy --trust; nothing where
/// there is no such file and no other user can make it: the caller says so
void require_trusted(const std::filesystem::path& path);

}  // namespace gangway
