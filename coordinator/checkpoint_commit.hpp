// SPDX-License-Identifier: MIT
// What the coordinator does on the disk for a checkpoint whose files have all come. Made by the
// RunRecorder on the event loop's thread, carried out on the DiskThread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/retention.hpp"

namespace gangway::coordinator {

/// Everything by value: the work may outlive who asked for it.
struct CommitWork {
  std::filesystem::path temporary;  ///< holds the workers' files
  checkpoint::Manifest manifest;
  checkpoint::RetentionPolicy retention;
};

struct CommitResult {
  std::filesystem::path path;         ///< of the checkpoint
  std::string error;                  ///< not empty: it does not exist, and why
  std::vector<std::string> warnings;  ///< for a person
  std::vector<std::filesystem::path> removed;  ///< older ones
  double seconds = 0.0;                        ///< to commit, without the removal
};

/// Commits, then removes older ones. Any thread; never throws for a disk that fails.
[[nodiscard]] CommitResult carry_out(CommitWork work);

}  // namespace gangway::coordinator
