// SPDX-License-Identifier: MIT
// Which checkpoints stay and which go. Called by the coordinator after each commit and by `gangway
// checkpoints rm|pin|unpin`. Nothing is deleted but what a sound manifest proves to be ours.
//
// A pin is an empty file `step-<9 digits>.pin` beside the checkpoint's folder, which is never
// changed itself.
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
  int keep = 3;                       ///< newest complete ones that stay; at least 1
  std::int64_t keep_every_steps = 0;  ///< the first one of each stretch so long stays; 0: none
  int keep_best = 0;                  ///< those with the best scores stay, so many; 0: none
  std::set<std::int64_t> in_use;      ///< steps that a process is reading
};

/// Of `entries` (newest first), those that the policy lets go, oldest first. Pure.
/// @param held  steps that stay in any case. @pre policy.keep >= 1
[[nodiscard]] std::vector<const CheckpointEntry*> surplus_of(
    std::span<const CheckpointEntry> entries, const std::set<std::int64_t>& held,
    const RetentionPolicy& policy);

/// Deletes them, but for those that are pinned, in use or among the best, carry no sound manifest
/// or hold something foreign. @return what was deleted. @throws EnvironmentError naming what cannot
/// be deleted.
std::vector<std::filesystem::path> remove_old(const std::filesystem::path& checkpoints_dir,
                                              const RetentionPolicy& policy,
                                              const FileSystem& files = PosixFileSystem());

/// Deletes one, its pin and its score. @throws CheckpointError where nothing proves that it is
/// ours; EnvironmentError where the disk refuses.
void remove_checkpoint(const CheckpointEntry& entry);

/// Steps that are pinned, whether there is a checkpoint of them or not.
[[nodiscard]] std::set<std::int64_t> pinned_steps(const std::filesystem::path& checkpoints_dir);
/// Keeps the checkpoint of `step` until it is unpinned. Twice is as good as once. @throws
/// EnvironmentError
void pin_checkpoint(const std::filesystem::path& checkpoints_dir, std::int64_t step);
/// @return whether it was pinned. @throws EnvironmentError
bool unpin_checkpoint(const std::filesystem::path& checkpoints_dir, std::int64_t step);

/// Deletes temporaries whose owner is known to be dead (same host; another boot or no such
/// process). @return what was deleted.
std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& checkpoints_dir, const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
