// SPDX-License-Identifier: MIT
// Value types of a snapshot: its hash and its place (run, worker, folder). No thread of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace gangway::checkpoint {

/// File name prefix. Not "gangway-": those segments are useless after their process has died.
inline constexpr std::string_view kSnapshotPrefix = "gangway.snap-";
/// Folder in the run directory that holds the snapshots if shared memory is too small.
inline constexpr std::string_view kSnapshotsFolder = "snapshots";

/// An XXH3-128 hash of a piece.
using PieceHash = Hash128;

/// Identifies a worker's snapshots (run, worker, replica) and their folder.
struct SnapshotPlace {
  std::filesystem::path folder;  ///< from choose_snapshot_folder()
  std::filesystem::path run_directory;
  std::string job_fingerprint;
  std::string run_id = {};
  int worker = 0;  ///< the worker whose share it is
  int num_workers = 1;
  int replica = 0;  ///< 0: held by `worker` itself; n: the n-th copy, held by a buddy
};

}  // namespace gangway::checkpoint
