// SPDX-License-Identifier: MIT
// How many cores this process may keep busy: what its affinity mask and the quotas of its control
// groups allow. Asked where threads are started; any thread.
#pragma once

#include <filesystem>
#include <string_view>

namespace gangway {

/// At least 1. As it was when it was asked first: threads that were bound to fewer since do not
/// count (base/system/near_cores.hpp).
[[nodiscard]] int usable_cores();

/// Cores that the quotas of a control group and of all above it allow, rounded up; 0: any number.
/// @param root   where control groups are mounted: /sys/fs/cgroup
/// @param groups  what /proc/self/cgroup says
[[nodiscard]] int quota_cores(const std::filesystem::path& root, std::string_view groups);

/// Threads that read data in a process beside which as many others like it use the same cores.
/// @param processes  all of them. @param busy  threads of each that do something else
/// @return from 1 to 8
[[nodiscard]] int reading_threads(int processes, int busy);

}  // namespace gangway
