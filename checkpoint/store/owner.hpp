// SPDX-License-Identifier: MIT
// Which process is writing a temporary folder, recorded inside it, so that a later run can tell a
// live writer from a dead one. Internal to the store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// A process id is reused, so the start time goes with it; it means nothing on another host, in
/// another boot or in another process-id namespace (a container), so these go too.
struct Owner {
  std::string host;
  std::string boot_id;
  std::string pid_namespace;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, proc(5)
};

enum class OwnerState {
  kAlive,
  kDead,
  kUnknown,  ///< of another host or container: not ours to judge
};

/// The calling process.
[[nodiscard]] Owner this_process();
/// Writes owner.json into `directory`, without waiting for the disk. @throws EnvironmentError.
void write_owner(const std::filesystem::path& directory, const Owner& owner,
                 const FileSystem& files = PosixFileSystem());
/// A folder without a readable owner.json is of a process that died before it could write it:
/// kDead.
[[nodiscard]] OwnerState owner_state(const std::filesystem::path& directory);
/// The judgement alone. @param self this_process() of the caller.
[[nodiscard]] OwnerState judge(const Owner& owner, const Owner& self);

}  // namespace gangway::checkpoint
