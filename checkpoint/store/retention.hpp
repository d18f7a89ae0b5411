// SPDX-License-Identifier: MIT
// Deletes old checkpoints. Called by the coordinator after each commit and by `gangway checkpoints
// rm|pin|unpin`. Deletes only folders with a sound manifest of this store.
//
// A pin is an empty file `step-<9 digits>.pin` beside the checkpoint's folder; the folder never
// changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <vector>

#include "checkpoint/files/file_system.hpp"
#include "checkpoint/store/scan.hpp"

namespace gangway::checkpoint {

struct RetentionPolicy {
  int keep = 3;                       ///< number of newest complete ones that stay; at least 1
  std::int64_t keep_every_steps = 0;  ///< keeps the first checkpoint of each such interval; 0: none
  int keep_best = 0;                  ///< number of checkpoints with the best scores that stay
  std::set<std::int64_t> in_use;      ///< steps that a process is reading
};

/// Returns those of `entries` (newest first) that the policy deletes, oldest first. Pure.
/// @param held  steps that stay in any case. @pre policy.keep >= 1
[[nodiscard]] std::vector<const CheckpointEntry*> surplus_of(
    std::span<const CheckpointEntry> entries, const std::set<std::int64_t>& held,
    const RetentionPolicy& policy);

/// Deletes the surplus. Skips a checkpoint that is pinned, in use or among the best, has no sound
/// manifest or holds a foreign file. @return deleted folders. @throws EnvironmentError naming the
/// path that cannot be deleted.
std::vector<std::filesystem::path> remove_old(const std::filesystem::path& checkpoints_dir,
                                              const RetentionPolicy& policy,
                                              const FileSystem& files = PosixFileSystem());

/// Deletes a checkpoint, its pin and its score. @throws CheckpointError if no sound manifest proves
/// that it is ours; EnvironmentError if the disk fails.
void remove_checkpoint(const CheckpointEntry& entry);

/// Returns the pinned steps, also steps without a checkpoint.
[[nodiscard]] std::set<std::int64_t> pinned_steps(const std::filesystem::path& checkpoints_dir);
/// Keeps the checkpoint of `step` until it is unpinned; idempotent. @throws EnvironmentError
void pin_checkpoint(const std::filesystem::path& checkpoints_dir, std::int64_t step);
/// @return whether it was pinned. @throws EnvironmentError
bool unpin_checkpoint(const std::filesystem::path& checkpoints_dir, std::int64_t step);

/// Deletes temporary folders whose owner is dead (same host; another boot or no such process).
/// @return deleted folders.
std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& checkpoints_dir, const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
