// SPDX-License-Identifier: MIT
// Makes the text of `gangway checkpoints ls|verify|show RUN`. Called by the command line; changes
// nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway::checkpoint {

/// Returns `run_directory`/checkpoints.
[[nodiscard]] std::filesystem::path checkpoints_folder(const std::filesystem::path& run_directory);

/// Returns a table, newest first: step, kimg, age, size, files, status; or one line if empty.
/// @throws CheckpointError if the run directory does not exist.
[[nodiscard]] std::string list_text(const std::filesystem::path& run_directory,
                                    std::chrono::system_clock::time_point now);

struct VerifyText {
  std::string text;       ///< a line per checkpoint: "ok" or the damage
  bool all_valid = true;  ///< false also if there is no checkpoint: exit code 5
};
/// Reads every checkpoint, or only that of `step`, in full. @throws CheckpointError if `step` does
/// not exist.
[[nodiscard]] VerifyText verify_text(const std::filesystem::path& run_directory,
                                     std::optional<std::int64_t> step = {});

/// Returns manifest and tensor table of the checkpoint of `step`, or of the newest complete one.
/// @throws CheckpointError if there is none or it cannot be read.
[[nodiscard]] std::string show_text(const std::filesystem::path& run_directory,
                                    std::optional<std::int64_t> step = {});

}  // namespace gangway::checkpoint
