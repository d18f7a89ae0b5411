// SPDX-License-Identifier: MIT
// Makes a checkpoint durable by a fixed protocol (docs/checkpoint-format.md).
//
// A save:   coordinator: begin_checkpoint → worker i: write_worker_pieces, report →
//           coordinator: commit_checkpoint, remove_old (checkpoint/store/retention.hpp).
// A start:  remove_stale_temporaries (there), newest_valid (checkpoint/store/scan.hpp).
//
// A checkpoint exists once its folder has its final name; by then all its bytes are on the disk. It
// never changes afterwards. Any thread; one process at a time (the coordinator) writes to a folder
// of checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>

#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/warn.hpp"

namespace gangway::checkpoint {

/// Makes `checkpoints_dir` if missing and in it a folder `.tmp-step-<9 digits>-<nonce>` with its
/// owner's process. Syncs nothing, so a slow disk does not delay it.
/// @throws EnvironmentError naming path and cause.
[[nodiscard]] std::filesystem::path begin_checkpoint(const std::filesystem::path& checkpoints_dir,
                                                     std::int64_t step,
                                                     const FileSystem& files = PosixFileSystem());

/// Checks the files: present, right size, the manifest's step and epoch, no tensor twice. Writes
/// the manifest; renames the folder to `step-<9 digits>`. Overwrites nothing. If a valid checkpoint
/// of the same job and step exists, removes `temporary`. Renames a damaged one to `damaged-step-…`
/// and passes a line to `warn`.
/// @return the final path. @throws CheckpointError if files and manifest disagree or another job's
/// checkpoint has the name; EnvironmentError if the disk fails. After a throw call
/// discard_temporary(); a retry starts with begin_checkpoint().
std::filesystem::path commit_checkpoint(const std::filesystem::path& temporary, Manifest manifest,
                                        const Warn& warn = {},
                                        const FileSystem& files = PosixFileSystem());

/// Removes our files in a folder from begin_checkpoint() and the folder; ignores missing files.
/// @return whether the folder is gone; a disk may refuse.
bool discard_temporary(const std::filesystem::path& temporary,
                       const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
