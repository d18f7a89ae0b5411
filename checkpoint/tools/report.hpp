// SPDX-License-Identifier: MIT
// What `gangway checkpoints ls|verify|show RUN` prints. Called by the command line; text out,
// nothing changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway::checkpoint {

/// `run_directory`/checkpoints.
[[nodiscard]] std::filesystem::path checkpoints_folder(const std::filesystem::path& run_directory);

/// Table, newest first: step, kimg, age, size, files, status; one line when there are none.
/// @throws CheckpointError when the run directory does not exist.
[[nodiscard]] std::string list_text(const std::filesystem::path& run_directory,
                                    std::chrono::system_clock::time_point now);

struct VerifyText {
  std::string text;       ///< a line a checkpoint: "ok", or what is damaged
  bool all_valid = true;  ///< false also when there is none: exit code 5
};
/// Reads every checkpoint, or the one of `step`, in full. @throws CheckpointError when `step` does
/// not exist.
[[nodiscard]] VerifyText verify_text(const std::filesystem::path& run_directory,
                                     std::optional<std::int64_t> step = {});

/// Manifest and tensor table of the checkpoint of `step`, or of the newest complete one.
/// @throws CheckpointError when there is none or it cannot be read.
[[nodiscard]] std::string show_text(const std::filesystem::path& run_directory,
                                    std::optional<std::int64_t> step = {});

}  // namespace gangway::checkpoint
