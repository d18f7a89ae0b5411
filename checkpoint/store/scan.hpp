// SPDX-License-Identifier: MIT
// Finds checkpoints in a run directory (docs/checkpoint-format.md). Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/warn.hpp"

namespace gangway::checkpoint {

enum class CheckpointStatus {
  kComplete,  ///< manifest sound, all files present with their sizes (contents not read)
  kDamaged,
};

struct CheckpointEntry {
  std::filesystem::path path;
  std::int64_t step = 0;
  CheckpointStatus status = CheckpointStatus::kDamaged;
  std::string damage;                ///< one line if damaged
  std::optional<Manifest> manifest;  ///< if it could be read
  std::uint64_t bytes = 0;           ///< of all files, by the manifest
};

/// Lists all `step-…` folders, newest first; empty if the folder does not exist. Cheap: reads
/// manifests and sizes only.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(
    const std::filesystem::path& checkpoints_dir);

/// Returns the first complete entry of `entries` (newest first); null if there is none.
[[nodiscard]] const CheckpointEntry* newest_complete(std::span<const CheckpointEntry> entries);

/// Returns the checkpoint of `step`, complete or not, or the newest complete one (contents not
/// read). @throws CheckpointError if there is none.
[[nodiscard]] CheckpointEntry find_checkpoint(const std::filesystem::path& checkpoints_dir,
                                              std::optional<std::int64_t> step);

/// A verified checkpoint.
struct Found {
  std::filesystem::path path;
  std::int64_t step = 0;
  Manifest manifest;
};

/// How much of a checkpoint is verified.
enum class Depth {
  kStructure,  ///< manifest, sizes, headers: for a load that verifies each chunk
  kContents,   ///< every byte
};

/// Returns the newest checkpoint that verifies; nothing if there is none. Passes one line per
/// rejected checkpoint to `warn`: the damage and which checkpoint is used instead.
/// @param before  only earlier steps: the checkpoint of that step turned out damaged
[[nodiscard]] std::optional<Found> newest_valid(const std::filesystem::path& checkpoints_dir,
                                                const Warn& warn, Depth depth = Depth::kContents,
                                                std::optional<std::int64_t> before = {});

/// Whether the folder is gone. A run may remove an old checkpoint while another process reads it;
/// then a read error is not damage.
[[nodiscard]] bool is_removed(const std::filesystem::path& checkpoint);

/// Time after which read_chosen() stops retrying when a run keeps removing its checkpoints.
inline constexpr std::chrono::seconds kLongestLook{10};

/// Calls `read` with the checkpoint that `choose` returns; retries both if that checkpoint is
/// removed meanwhile. @throws the exceptions of both if the checkpoint still exists.
template <typename Choose, typename Read>
auto read_chosen(Choose choose, Read read) {
  const auto give_up = std::chrono::steady_clock::now() + kLongestLook;
  for (;;) {
    const std::filesystem::path checkpoint = choose();
    try {
      return read(checkpoint);
    } catch (const CheckpointError&) {
      if (!is_removed(checkpoint) || std::chrono::steady_clock::now() > give_up) {
        throw;
      }
    }
  }
}

}  // namespace gangway::checkpoint
