// SPDX-License-Identifier: MIT
// `gangway doctor-facts`, hidden: what share/python/gangway/tools/doctor.py and hosts.py ask the
// programs for, as one line of JSON. Main thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/command_line.hpp"

namespace gangway::launch {

/// Removes from `folder` the segments whose worker no longer lives; runs in progress keep theirs.
/// @return how many
[[nodiscard]] std::size_t clean_shared_memory(const std::filesystem::path& folder);

/// Removes from `folder` the snapshots of runs that ended well, are gone or were left alone for
/// long. Those that a run can go on from stay. @return a line on what went, and a line a run that
/// stays, with its memory and the command that frees it
[[nodiscard]] std::vector<std::string> clean_snapshots(const std::filesystem::path& folder);

void add_doctor_facts_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
