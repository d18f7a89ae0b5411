// SPDX-License-Identifier: MIT
// The protocol that makes a checkpoint durable, and the rules by which one is found again
// (docs/checkpoint-format.md).
//
// A save:   coordinator: begin_checkpoint → worker i: write_worker_file, report →
//           coordinator: commit_checkpoint, remove_old.
// A start:  remove_stale_temporaries, newest_valid.
//
// A checkpoint exists from the instant its folder has its final name, which is after everything in
// it is on the disk; it is never changed again. All functions may be called from any thread;
// writing calls for one folder of checkpoints come from one process at a time (the coordinator).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/stored_tensor.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

/// Receives one line for a person.
using Warn = std::function<void(std::string)>;

/// Who wrote a worker's file, and of which moment: stored in its metadata, so that files of two
/// steps never mix.
struct FileIdentity {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int worker = 0;
  int num_workers = 1;
};

/// Makes `checkpoints_dir` where it is missing, and in it a new folder `.tmp-step-<9
/// digits>-<nonce>` that says which process owns it. Syncs nothing: it waits for no slow disk.
/// @throws EnvironmentError naming path and cause.
[[nodiscard]] std::filesystem::path begin_checkpoint(const std::filesystem::path& checkpoints_dir,
                                                     std::int64_t step);

/// Writes and syncs the one file of a worker in the folder from begin_checkpoint. Every worker
/// writes one, an empty list included. @throws as write_safetensors.
[[nodiscard]] FileReport write_worker_file(const std::filesystem::path& temporary,
                                           const FileIdentity& identity,
                                           std::span<const TensorRecord> tensors);
/// The same for a state in pieces: direct I/O where the file system takes it, no copy larger than a
/// chunk. Beside the file goes a record of its pieces' hashes and chunk sums, which
/// commit_checkpoint moves into the manifest.
/// @param on_chunk  called as each chunk is on its way: that the disk takes something
[[nodiscard]] FileReport write_worker_pieces(const std::filesystem::path& temporary,
                                             const FileIdentity& identity,
                                             std::span<const PieceRecord> pieces,
                                             const std::function<void()>& on_chunk = {});

/// Checks that every file of the manifest is there with its size, names the manifest's step and
/// epoch, and holds tensors that no other holds; writes the manifest; gives the folder its final
/// name `step-<9 digits>`. Nothing is overwritten: a valid checkpoint of the same job and step
/// stays and `temporary` is removed; a damaged one is set aside as `damaged-step-…` with a line to
/// `warn`.
/// @return the final path. @throws CheckpointError when files and manifest disagree or another
/// job's checkpoint is in the way; EnvironmentError when the disk fails. After a throw call
/// discard_temporary and, to retry, start afresh.
std::filesystem::path commit_checkpoint(const std::filesystem::path& temporary, Manifest manifest,
                                        const Warn& warn = {});

/// Removes a folder from begin_checkpoint and our files in it; never throws for what is already
/// gone. @return whether it is gone now: a disk may refuse to remove it.
bool discard_temporary(const std::filesystem::path& temporary);

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

/// Reads everything: sizes, hashes, structure, identities, names; no file too few or too many.
/// @return the manifest. @throws CheckpointError naming the file, and the tensor where known.
Manifest verify_checkpoint(const std::filesystem::path& checkpoint);

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

/// Whether nothing has this name any more: whoever saves may remove an old checkpoint while another
/// process reads it, and then no error in it is damage.
[[nodiscard]] bool is_removed(const std::filesystem::path& checkpoint);

/// `read` of the checkpoint that `choose` names; where that is removed meanwhile, of the one that it
/// names then. @throws what either throws for one that is there.
template <typename Choose, typename Read>
auto read_chosen(Choose choose, Read read) {
  constexpr int kMostLooks = 10;
  for (int look = 1;; ++look) {
    const std::filesystem::path checkpoint = choose();
    try {
      return read(checkpoint);
    } catch (const CheckpointError&) {
      if (look == kMostLooks || !is_removed(checkpoint)) {
        throw;
      }
    }
  }
}

/// Deletes all but the `keep` newest complete checkpoints. Only folders that carry a sound manifest
/// and nothing foreign are touched; nothing newer than a kept one is. @pre keep >= 1. @return what
/// was deleted.
std::vector<std::filesystem::path> remove_old(const std::filesystem::path& checkpoints_dir,
                                              int keep);

/// Deletes temporaries whose owner is known to be dead (same host; another boot or no such
/// process). @return what was deleted.
std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& checkpoints_dir);

/// Whole tensors of a checkpoint, row-major, for those who want a few: what was asked for once is
/// kept in memory. Loads that care for memory or bandwidth use checkpoint/stored_state.hpp. Any
/// thread may ask.
class CheckpointReader {
 public:
  /// As StoredState: structure now, values when they are asked for. @throws CheckpointError.
  explicit CheckpointReader(const std::filesystem::path& checkpoint);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  [[nodiscard]] const Manifest& manifest() const;
  /// Sorted by name, over all files: reads everything. @throws CheckpointError naming file, tensor
  /// and chunk, here and below.
  [[nodiscard]] std::vector<const TensorRecord*> tensors() const;
  /// Null when no file holds it.
  [[nodiscard]] const TensorRecord* find(std::string_view name) const;
  /// @throws CheckpointError naming checkpoint and tensor also when it is missing.
  [[nodiscard]] const TensorRecord& require(std::string_view name) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace gangway::checkpoint
