// SPDX-License-Identifier: MIT
// Finds the snapshot from which one host alone could resume. The coordinator's choice over all
// hosts is coordinator/resume/resume_choice.hpp.
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

/// Returns the newest snapshot whose parts 0 … n-1 all lie in `folders` and verify, or nothing. A
/// replica replaces a damaged part. Each refused snapshot or part costs one line to `warn`, which
/// names the damage and the replacement.
/// @param newer_than  snapshots up to this step do not count, because a checkpoint is as new
[[nodiscard]] std::optional<CompleteSnapshot> newest_complete(
    std::span<const std::filesystem::path> folders, const std::string& key,
    const std::function<void(std::string)>& warn, std::int64_t newer_than = -1);

}  // namespace gangway::checkpoint
