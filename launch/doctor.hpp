// SPDX-License-Identifier: MIT
// `gangway doctor`: what this machine has and lacks, or in what several differ, as a table or as
// JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/findings.hpp"
#include "launch/process/command_line.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

/// Looks; starts two ranks under mpirun for a moment, and a worker a GPU where there are several,
/// and removes the shared memory that killed workers left, and snapshots that nobody goes on from.
/// Changes nothing else.
[[nodiscard]] std::vector<Finding> examine(const Environment& environment);

/// Removes from `folder` the segments whose worker no longer lives; runs in progress keep theirs.
[[nodiscard]] Finding clean_shared_memory(const std::filesystem::path& folder);

/// Removes from `folder` the snapshots of runs that ended well, are gone or were left alone for
/// long. Those that a run can go on from stay: a finding a run, with its memory and the command
/// that frees it.
[[nodiscard]] std::vector<Finding> clean_snapshots(const std::filesystem::path& folder);

/// Where Slurm has bound each task of this allocation to GPUs of its own: among those that a
/// process sees NCCL finds the links to others (NVIDIA/nccl#1066). Nothing: it has not.
[[nodiscard]] std::optional<Finding> find_gpu_binding(const Environment& environment);

void add_doctor_command(CLI::App& app, CommandLine& line);

/// `gangway host-facts`, hidden: what `gangway doctor --hosts` starts on each host.
void add_host_facts_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
