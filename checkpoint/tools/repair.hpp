// SPDX-License-Identifier: MIT
// Finds damaged chunks of a checkpoint and writes them anew from where the same values are still
// sound: a copy of the checkpoint, one of the same step on another layout, a snapshot in memory.
// Called by `gangway checkpoints scrub` and by a load that met damage. A file is never changed in
// place: a new one is written, synced and renamed over the damaged one.
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

/// A chunk whose bytes are not those that were written.
struct DamagedChunk {
  int file = 0;             ///< index of Manifest::files
  std::uint64_t index = 0;  ///< of the chunk in the file
  std::string line;         ///< file, chunk, its tensors and what is wrong with them
};

/// Reads everything. Missing and truncated files count as files of damaged chunks. Empty: all is
/// sound. @throws CheckpointError when the manifest cannot be read (nothing tells what was meant),
/// or for format 1, which has no chunk sums.
[[nodiscard]] std::vector<DamagedChunk> find_damage(const std::filesystem::path& checkpoint);

/// Fills `out` with elements [begin, end) of `tensor`, in `tensor`'s stored order. False: it has
/// none. What it gives need not be trusted: it is used only if the chunk's sum then is the right
/// one.
using ElementSource = std::function<bool(const StoredTensor& tensor, std::uint64_t begin,
                                         std::uint64_t end, std::span<std::byte> out)>;

/// Elements of another checkpoint, of any layout.
[[nodiscard]] ElementSource elements_of(const std::filesystem::path& other_checkpoint);

struct RepairResult {
  std::vector<DamagedChunk> repaired;
  std::vector<DamagedChunk> left;  ///< those for which `source` has not the same bytes
};

/// Rewrites every file with damaged chunks if all of them can be had from `source`; a file of which
/// one cannot is left as it is. @throws CheckpointError as find_damage; EnvironmentError when the
/// disk refuses: then the damaged files are as they were.
RepairResult repair_checkpoint(const std::filesystem::path& checkpoint, const ElementSource& source,
                               const FileSystem& files = PosixFileSystem());

}  // namespace gangway::checkpoint
