// SPDX-License-Identifier: MIT
// What a snapshot is made of, and whose it is: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::checkpoint {

/// Not "gangway-": those are segments that mean nothing without their process.
inline constexpr std::string_view kSnapshotPrefix = "gangway.snap-";
/// In a run directory: where snapshots lie when shared memory is too small.
inline constexpr std::string_view kSnapshotsFolder = "snapshots";

/// XXH3-128.
struct PieceHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const PieceHash&) const = default;
  [[nodiscard]] std::string hex() const;
};

/// XXH3-128.
[[nodiscard]] PieceHash hash_bytes(std::span<const std::byte> bytes);

/// Whose snapshots, and where they lie.
struct SnapshotPlace {
  std::filesystem::path folder;  ///< choose_snapshot_folder()
  std::filesystem::path run_directory;
  std::string job_fingerprint;
  std::string run_id = {};
  int worker = 0;  ///< whose part it is
  int num_workers = 1;
  int replica = 0;  ///< 0: held by that worker itself; else which of its buddies' copies
};

}  // namespace gangway::checkpoint
