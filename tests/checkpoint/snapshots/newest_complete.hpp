// SPDX-License-Identifier: MIT
// What a host alone could go on from: the coordinator's choice over all hosts is
// coordinator/resume/resume_choice.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/snapshots/snapshot_files.hpp"

namespace gangway::checkpoint {

/// The parts of all workers.
struct CompleteSnapshot {
  SnapshotId id;
  std::vector<SnapshotFile> parts;  ///< by worker
};

/// The newest whose parts 0 … n-1 all lie in `folders` and verify; a damaged part is
/// replaced by a replica where there is one. Each refused snapshot or part costs one line to `warn`
/// that names the damage and what is used instead. Nothing when there is none.
/// @param newer_than  those up to this step are of no use (a checkpoint is as new)
[[nodiscard]] std::optional<CompleteSnapshot> newest_complete(
    std::span<const std::filesystem::path> folders, const std::string& key,
    const std::function<void(std::string)>& warn, std::int64_t newer_than = -1);

}  // namespace gangway::checkpoint
