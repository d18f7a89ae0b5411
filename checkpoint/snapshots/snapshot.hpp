// SPDX-License-Identifier: MIT
// What a snapshot is made of, and which one it is: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// Not "gangway-": those are segments that mean nothing without their process.
inline constexpr std::string_view kSnapshotPrefix = "gangway.snap-";
/// In a run directory: where snapshots lie when shared memory is too small.
inline constexpr std::string_view kSnapshotsFolder = "snapshots";

/// A tensor, or the elements [begin, end) of it, counted in its stored order.
struct SnapshotPiece {
  std::string name;  ///< of the tensor, as in checkpoints
  ElementType type = ElementType::kF32;
  StoredOrder order = StoredOrder::kRowMajor;
  std::vector<std::int64_t> shape;  ///< of the whole tensor, logical
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(end - begin) * item_size(type);
  }
  bool operator==(const SnapshotPiece&) const = default;
};

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

/// Which moment.
struct SnapshotMoment {
  std::int64_t step = 0;
  std::int64_t incarnation = 0;  ///< start of the run: another may have got there by other bits
  std::int64_t epoch = 0;        ///< of the membership, within that start
  auto operator<=>(const SnapshotMoment&) const = default;
};

}  // namespace gangway::checkpoint
