// SPDX-License-Identifier: MIT
// Disk work for a checkpoint whose files are complete or whose score has arrived, and for a failed
// run's snapshots. Created by the RunRecorder on the event loop's thread, carried out on the
// DiskThread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scores.hpp"

namespace gangway::coordinator {

/// Input of a commit. All by value, because the work may outlive the event loop's objects.
struct CommitWork {
  std::filesystem::path temporary;  ///< holds the workers' files
  checkpoint::Manifest manifest;
  checkpoint::RetentionPolicy retention;
};

struct CommitResult {
  std::filesystem::path path;                  ///< path of the checkpoint
  std::string error;                           ///< not empty: why the checkpoint does not exist
  std::vector<std::string> warnings;           ///< for the user
  std::vector<std::filesystem::path> removed;  ///< removed older checkpoints
  double seconds = 0.0;                        ///< duration of the commit, without the removal
};

/// Commits, then removes older checkpoints. Any thread; a failing disk never makes it throw.
[[nodiscard]] CommitResult carry_out(CommitWork work);

/// Input of the work after a score. All by value.
struct ScoreWork {
  std::filesystem::path checkpoints;
  std::int64_t step = 0;  ///< step of the scored checkpoint
  checkpoint::RetentionPolicy retention;
};

struct ScoreResult {
  std::optional<checkpoint::CheckpointScore> score;
  bool is_best = false;  ///< best of the existing checkpoints
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> removed;  ///< removed worse or older checkpoints
};

/// Reads the score, then removes checkpoints by the retention policy. Any thread; a failing disk
/// never makes it throw.
[[nodiscard]] ScoreResult carry_out(const ScoreWork& work);

/// Result of a failed run's checkpoint::KeepSnapshots.
struct KeepResult {
  std::int64_t from_step = 0;
  std::size_t copied = 0;  ///< slots copied
  std::string error;       ///< empty: all slots are on the disk
};
[[nodiscard]] KeepResult carry_out(const checkpoint::KeepSnapshots& keep);

}  // namespace gangway::coordinator
