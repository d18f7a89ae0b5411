// SPDX-License-Identifier: MIT
// What the control groups that this process is in allow it, of both versions of them: folders of
// files that the kernel fills. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

inline constexpr const char* kControlGroups = "/sys/fs/cgroup";

/// What /proc/self/cgroup says.
[[nodiscard]] std::string own_groups();

/// The folders of a process's group and of all above it, for one controller: its own first.
/// @param root    where control groups are mounted: kControlGroups
/// @param groups  own_groups(). @param controller  "cpu", "memory"
[[nodiscard]] std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                                std::string_view groups,
                                                                std::string_view controller);

/// Periods of a CPU quota since the group was made.
struct QuotaPeriods {
  std::uint64_t all = 0;
  std::uint64_t throttled = 0;  ///< in which a thread waited because the quota was used up
};
/// Of the group whose quota was used up most often; none: 0.
[[nodiscard]] QuotaPeriods quota_periods(const std::vector<std::filesystem::path>& groups);

struct MemoryLimit {
  std::uint64_t used_bytes = 0;   ///< without what the kernel only keeps of files
  std::uint64_t limit_bytes = 0;  ///< 0: there is none
  std::string of;                 ///< "control group" or "host"
  /// Used, of the limit; 0 without one.
  [[nodiscard]] double share() const;
};
/// Of the host and the groups, the one of which the greatest share is used.
/// @param meminfo  /proc/meminfo
[[nodiscard]] MemoryLimit narrowest_limit(const std::vector<std::filesystem::path>& groups,
                                          const std::filesystem::path& meminfo);

}  // namespace gangway
