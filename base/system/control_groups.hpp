// SPDX-License-Identifier: MIT
// Reads the limits that this process's control groups (version 1 or 2) set on CPU and memory. Any
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

inline constexpr const char* kControlGroups = "/sys/fs/cgroup";

/// Returns the text of /proc/self/cgroup.
[[nodiscard]] std::string own_groups();

/// Returns the folders of a process's group and its ancestors, for one controller: its own first.
/// @param root    the folder in which control groups are mounted: kControlGroups
/// @param groups  own_groups(). @param controller  "cpu", "memory"
[[nodiscard]] std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                                std::string_view groups,
                                                                std::string_view controller);

/// Periods of a CPU quota since the group was made.
struct QuotaPeriods {
  std::uint64_t all = 0;
  std::uint64_t throttled = 0;  ///< in which a thread waited because the quota was used up
};
/// Returns the periods of the group that was throttled most often; zeroes if no group has a quota.
[[nodiscard]] QuotaPeriods quota_periods(const std::vector<std::filesystem::path>& groups);

struct MemoryLimit {
  std::uint64_t used_bytes = 0;   ///< without the kernel's page cache of files
  std::uint64_t limit_bytes = 0;  ///< 0: no limit
  std::string of;                 ///< "control group" or "host"
  /// Returns used_bytes / limit_bytes; 0 without a limit.
  [[nodiscard]] double share() const;
};
/// Returns the limit, of the host or of a group, of which the greatest share is used.
/// @param meminfo  /proc/meminfo
[[nodiscard]] MemoryLimit narrowest_limit(const std::vector<std::filesystem::path>& groups,
                                          const std::filesystem::path& meminfo);
/// Returns the limit, of the host or of a group, with the fewest bytes.
[[nodiscard]] MemoryLimit smallest_limit(const std::vector<std::filesystem::path>& groups,
                                         const std::filesystem::path& meminfo);

}  // namespace gangway
