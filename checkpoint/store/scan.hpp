// SPDX-License-Identifier: MIT
// How a checkpoint is found again (docs/checkpoint-format.md). From any thread.
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
  kComplete,  ///< manifest sound, all files there with their sizes (contents not read)
  kDamaged,
};

struct CheckpointEntry {
  std::filesystem::path path;
  std::int64_t step = 0;
  CheckpointStatus status = CheckpointStatus::kDamaged;
  std::string damage;                ///< one line when damaged
  std::optional<Manifest> manifest;  ///< where it could be read
  std::uint64_t bytes = 0;           ///< of all files by the manifest
};

/// All `step-…` folders, newest first; empty when the folder does not exist. Cheap: reads manifests
/// and sizes.
[[nodiscard]] std::vector<CheckpointEntry> list_checkpoints(
    const std::filesystem::path& checkpoints_dir);

/// Of `entries`, newest first as list_checkpoints has them, the first complete one; null: none is.
[[nodiscard]] const CheckpointEntry* newest_complete(std::span<const CheckpointEntry> entries);

/// The checkpoint of `step`, complete or not, or the newest complete one (contents not read).
/// @throws CheckpointError when there is none.
[[nodiscard]] CheckpointEntry find_checkpoint(const std::filesystem::path& checkpoints_dir,
                                              std::optional<std::int64_t> step);

/// A verified checkpoint.
struct Found {
  std::filesystem::path path;
  std::int64_t step = 0;
  Manifest manifest;
};

/// What is looked at before a checkpoint is taken for sound.
enum class Depth {
  kStructure,  ///< manifest, sizes, headers: for a load that verifies each chunk as it reads it
  kContents,   ///< every byte
};

/// Verifies the newest, then the one before, and so on. Each refused one costs one line to `warn`
/// that names the damage and what is used instead. Nothing when none is valid.
/// @param before  only checkpoints of earlier steps: the one of that step was found damaged since
[[nodiscard]] std::optional<Found> newest_valid(const std::filesystem::path& checkpoints_dir,
                                                const Warn& warn, Depth depth = Depth::kContents,
                                                std::optional<std::int64_t> before = {});

/// Whether nothing has this name any more: a run may remove an old checkpoint while another process
/// reads it, and then no error in it is damage.
[[nodiscard]] bool is_removed(const std::filesystem::path& checkpoint);

/// How long a run that saves and removes without a pause may keep a reader from a checkpoint.
inline constexpr std::chrono::seconds kLongestLook{10};

/// `read` of the checkpoint that `choose` names; where that is removed meanwhile, of the one that
/// it names then. @throws what either throws for one that is there.
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
