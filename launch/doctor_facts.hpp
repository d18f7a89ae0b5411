// SPDX-License-Identifier: MIT
// `gangway doctor-facts`, hidden: prints facts as one line of JSON. Called by
// share/python/gangway/tools/doctor.py and hosts.py. Main thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace gangway::launch {

/// Removes from `folder` the segments of workers that have died; keeps those of running jobs.
/// @return number of removed segments
[[nodiscard]] std::size_t clean_shared_memory(const std::filesystem::path& folder);

/// Removes from `folder` snapshots of runs that ended well, no longer exist, or are long unused.
/// Keeps the snapshots that a run can resume from. @return one line for all removals, and one line
/// for each run that stays: its memory and the command that frees it
[[nodiscard]] std::vector<std::string> clean_snapshots(const std::filesystem::path& folder);

}  // namespace gangway::launch
