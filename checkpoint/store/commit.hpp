// SPDX-License-Identifier: MIT
// The protocol that makes a checkpoint durable (docs/checkpoint-format.md).
//
// A save:   coordinator: begin_checkpoint → worker i: write_worker_pieces, report →
//           coordinator: commit_checkpoint, remove_old (checkpoint/store/retention.hpp).
// A start:  remove_stale_temporaries (there), newest_valid (checkpoint/store/scan.hpp).
//
// A checkpoint exists from the instant its folder has its final name, which is after everything in
// it is on the disk; it is never changed again. All functions may be called from any thread;
// writing calls for one folder of checkpoints come from one process at a time (the coordinator).
#pragma once

#include <cstdint>
#include <filesystem>

#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/warn.hpp"

namespace gangway::checkpoint {

/// Makes `checkpoints_dir` where it is missing, and in it a new folder `.tmp-step-<9
/// digits>-<nonce>` that says which process owns it. Syncs nothing: it waits for no slow disk.
/// @throws EnvironmentError naming path and cause.
[[nodiscard]] std::filesystem::path begin_checkpoint(const std::filesystem::path& checkpoints_dir,
                                                     std::int64_t step,
                                                     const FileSystem& files = PosixFileSystem());

/// Checks that every file of the manifest is there with its size, names the manifest's step and
/// epoch, and holds tensors that no other holds; writes the manifest; gives the folder its final
/// name `step-<9 digits>`. Nothing is overwritten: a valid checkpoint of the same job and step
/// stays and `temporary` is removed; a damaged one is set aside as `damaged-step-…` with a line to
/// `warn`.
/// @return the final path. @throws CheckpointError when files and manifest disagree or another
/// job's checkpoint is in the way; EnvironmentError when the disk fails. After a throw call
/// discard_temporary and, to retry, start afresh.
std::filesystem::path commit_checkpoint(const std::filesystem::path& temporary, Manifest manifest,
                                        const Warn& warn = {},
                                        const FileSystem& files = PosixFileSystem());

/// Removes a folder from begin_checkpoint and our files in it; never throws for what is already
/// gone. @return whether it is gone now: a disk may refuse to remove it.
bool discard_temporary(const std::filesystem::path& temporary,
                       const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
