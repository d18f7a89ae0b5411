// SPDX-License-Identifier: MIT
// Reads figures of the coordinator's host and process from the kernel (proc(5), statvfs(3)).
// Reading the disk's free space may block on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gangway::coordinator {

struct HostFigures {
  std::optional<double> load_1_minute;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> available_memory_bytes;
  std::optional<std::uint64_t> disk_bytes;            ///< of the run directory's file system
  std::optional<std::uint64_t> available_disk_bytes;  ///< available to this user
  std::optional<std::uint64_t> resident_bytes;        ///< of this process
  std::optional<std::uint64_t> open_descriptors;
  std::optional<double> cpu_seconds;
};

/// Reads the figures; leaves empty those that the kernel does not report. Any thread.
[[nodiscard]] HostFigures host_figures(const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
