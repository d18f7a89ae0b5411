// SPDX-License-Identifier: MIT
// Has the links of hosts measured, every pair of them. Main thread.
#pragma once

#include <filesystem>

#include "base/environment.hpp"
#include "comm/calibrate/link_table.hpp"

namespace gangway::launch {

/// Starts gangway-bench-links on the hosts of `hostfile`, two workers at most on each.
/// @throws ConfigError for a hostfile with less than two hosts; EnvironmentError where it fails,
/// with what was said last
[[nodiscard]] comm::LinkTable measure_host_links(const std::filesystem::path& hostfile,
                                                 const Environment& environment);

}  // namespace gangway::launch
