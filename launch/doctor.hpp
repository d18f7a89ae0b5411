// SPDX-License-Identifier: MIT
// `gangway doctor`: what this machine has and lacks, as a table or as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/command_line.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

enum class Health { kGood, kNote, kBad };

struct Finding {
  std::string item;
  Health health = Health::kGood;
  std::string detail;  ///< what is there; for kNote and kBad also the remedy
};

/// Looks; starts two ranks under mpirun for a moment, and removes the shared memory that killed
/// workers left, and snapshots that nobody goes on from. Changes nothing else.
[[nodiscard]] std::vector<Finding> examine(const Environment& environment);

/// Removes from `folder` the segments whose worker no longer lives; runs in progress keep theirs.
[[nodiscard]] Finding clean_shared_memory(const std::filesystem::path& folder);

/// Removes from `folder` the snapshots of runs that ended well, are gone or were left alone for
/// long. Those that a run can go on from stay: a finding a run, with its memory and the command
/// that frees it.
[[nodiscard]] std::vector<Finding> clean_snapshots(const std::filesystem::path& folder);

/// What other libraries have in `folder`, by library; changes nothing.
[[nodiscard]] std::vector<Finding> find_others_memory(const std::filesystem::path& folder);

[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
/// One JSON object a line of the table: {"findings": [{"item": …, "health": "good", "detail": …}],
/// "healthy": true}.
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);
[[nodiscard]] bool is_healthy(const std::vector<Finding>& findings);

void add_doctor_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
