// SPDX-License-Identifier: MIT
// What the coordinator does on the disk for a checkpoint whose files have all come, or that has got
// its score. Made by the RunRecorder on the event loop's thread, carried out on the DiskThread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scores.hpp"

namespace gangway::coordinator {

/// Everything by value: the work may outlive who asked for it.
struct CommitWork {
  std::filesystem::path temporary;  ///< holds the workers' files
  checkpoint::Manifest manifest;
  checkpoint::RetentionPolicy retention;
};

struct CommitResult {
  std::filesystem::path path;                  ///< of the checkpoint
  std::string error;                           ///< not empty: it does not exist, and why
  std::vector<std::string> warnings;           ///< for a person
  std::vector<std::filesystem::path> removed;  ///< older ones
  double seconds = 0.0;                        ///< to commit, without the removal
};

/// Commits, then removes older ones. Any thread; never throws for a disk that fails.
[[nodiscard]] CommitResult carry_out(CommitWork work);

/// Everything by value, too.
struct ScoreWork {
  std::filesystem::path checkpoints;
  std::int64_t step = 0;  ///< whose score lies there
  checkpoint::RetentionPolicy retention;
};

struct ScoreResult {
  std::optional<checkpoint::CheckpointScore> score;
  bool is_best = false;  ///< of those that are there
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> removed;  ///< worse ones, and older
};

/// Reads the score, then removes what no longer stays. Any thread; never throws for a disk that
/// fails.
[[nodiscard]] ScoreResult carry_out(const ScoreWork& work);

}  // namespace gangway::coordinator
