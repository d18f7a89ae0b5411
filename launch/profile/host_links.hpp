// SPDX-License-Identifier: MIT
// Measures the links between all pairs of hosts. Main thread.
#pragma once

#include <filesystem>

#include "base/environment.hpp"
#include "comm/calibrate/link_table.hpp"

namespace gangway::launch {

/// Runs gangway-bench-links on the hosts of `hostfile`, at most two workers on each.
/// @throws ConfigError for a hostfile with fewer than two hosts; EnvironmentError with the last
/// output if the program fails
[[nodiscard]] comm::LinkTable measure_host_links(const std::filesystem::path& hostfile,
                                                 const Environment& environment);

}  // namespace gangway::launch
