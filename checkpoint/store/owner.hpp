// SPDX-License-Identifier: MIT
// Records in a temporary folder which process writes it, so that a later run can tell a living
// writer from a dead one. Internal to the store; any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/process_identity.hpp"
#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// A process and the name of its host, which shows that an earlier boot was of this host.
struct Owner : ProcessIdentity {
  std::string host;
};

enum class OwnerState {
  kAlive,
  kDead,
  kUnknown,  ///< of another host or container
};

/// Returns the calling process.
[[nodiscard]] Owner this_process();
/// Writes owner.json into `directory` without a sync. @throws EnvironmentError.
void write_owner(const std::filesystem::path& directory, const Owner& owner,
                 const FileSystem& files = PosixFileSystem());
/// Judges the owner of a folder. A missing or unreadable owner.json means kDead: its process died
/// before it wrote the file.
[[nodiscard]] OwnerState owner_state(const std::filesystem::path& directory);
/// Judges without reading a file. @param self  this_process() of the caller.
[[nodiscard]] OwnerState judge(const Owner& owner, const Owner& self);

}  // namespace gangway::checkpoint
