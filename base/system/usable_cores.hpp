// SPDX-License-Identifier: MIT
// Counts the cores that this process may use, by its affinity mask and its control groups' quotas.
// Called where threads are started; any thread.
#pragma once

#include <filesystem>
#include <string_view>

namespace gangway {

/// Returns the number of usable cores, at least 1. Reads the affinity mask at the first call only,
/// because near_cores.hpp later binds threads to fewer cores.
[[nodiscard]] int usable_cores();

/// Returns the cores that the quotas of a control group and its ancestors allow, rounded up; 0: any
/// number.
/// @param root  folder of mounted control groups: /sys/fs/cgroup. @param groups  own_groups()
[[nodiscard]] int quota_cores(const std::filesystem::path& root, std::string_view groups);

/// Returns how many threads a process should use to read data, 1 to 8.
/// @param processes  processes that share the cores, this one included
/// @param busy  threads of each process that do other work
[[nodiscard]] int reading_threads(int processes, int busy);

}  // namespace gangway
