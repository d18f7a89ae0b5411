// SPDX-License-Identifier: MIT
// Finds damaged chunks of a checkpoint and rewrites them from another source of the same values. A
// source is a copy, a checkpoint of the same step on another layout, or a snapshot in memory.
// Called by `gangway checkpoints scrub` and by a load that found damage. Writes and syncs a new
// file and renames it over the damaged one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/stored_tensor.hpp"

namespace gangway::checkpoint {

/// A chunk whose bytes differ from those written.
struct DamagedChunk {
  int file = 0;             ///< index of Manifest::files
  std::uint64_t index = 0;  ///< of the chunk in the file
  std::string line;         ///< file, chunk, its tensors and the damage
};

/// Reads all bytes; empty if all are sound. Counts each chunk of a missing or truncated file as
/// damaged. @throws CheckpointError if the manifest cannot be read, or for format 1, which has no
/// chunk sums.
[[nodiscard]] std::vector<DamagedChunk> find_damage(const std::filesystem::path& checkpoint);

/// Fills `out` with elements [begin, end) of `tensor`, in its stored order. Returns false if it has
/// none. The values need no trust: they are used only if the chunk's sum is right.
using ElementSource = std::function<bool(const StoredTensor& tensor, std::uint64_t begin,
                                         std::uint64_t end, std::span<std::byte> out)>;

/// Returns a source of the elements of another checkpoint, of any layout.
[[nodiscard]] ElementSource elements_of(const std::filesystem::path& other_checkpoint);

struct RepairResult {
  std::vector<DamagedChunk> repaired;
  std::vector<DamagedChunk> left;  ///< chunks whose bytes `source` does not have
};

/// Rewrites each damaged file if `source` has all of its damaged chunks; else leaves the file.
/// @throws CheckpointError as find_damage(); EnvironmentError if the disk fails: damaged files then
/// stay as they were.
RepairResult repair_checkpoint(const std::filesystem::path& checkpoint, const ElementSource& source,
                               const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
