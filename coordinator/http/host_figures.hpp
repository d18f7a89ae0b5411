// SPDX-License-Identifier: MIT
// How the coordinator's host and process are off, as the kernel says (proc(5), statvfs(3)). Asking
// for a disk's space may wait for the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gangway::coordinator {

struct HostFigures {
  std::optional<double> load_1_minute;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> available_memory_bytes;
  std::optional<std::uint64_t> disk_bytes;            ///< of the file system with the run directory
  std::optional<std::uint64_t> available_disk_bytes;  ///< to this user
  std::optional<std::uint64_t> resident_bytes;        ///< of this process
  std::optional<std::uint64_t> open_descriptors;
  std::optional<double> cpu_seconds;
};

/// Nothing where the kernel says nothing. Any thread.
[[nodiscard]] HostFigures host_figures(const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
