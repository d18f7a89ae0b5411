// SPDX-License-Identifier: MIT
// Finds, verifies and removes the snapshots on this host, of living and of dead processes. Called
// by a worker's start, at the end of a run and by `gangway doctor`. Any thread. It trusts no
// content before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_segment.hpp"
#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

/// Shared memory and the run's own folder: where the snapshots of a run may lie.
[[nodiscard]] std::vector<std::filesystem::path> snapshot_folders(
    const std::filesystem::path& run_directory,
    const std::filesystem::path& shared_memory = kSharedMemoryFolder);

/// A slot that claims to be whole; its header is sound, its data were not read.
struct SnapshotEntry {
  std::filesystem::path file;
  std::filesystem::path run_directory;
  std::string key;  ///< snapshot_key() of its run
  SnapshotId id;
  int worker = 0;
  int replica = 0;
  std::size_t bytes = 0;   ///< of data
  bool is_in_use = false;  ///< its process lives
};

/// Whole slots of the run `key` in `folders`, of all workers; the newest first, then by worker and
/// replica. Others (empty, half written, foreign, damaged headers) are left out.
/// @param warn  gets a line for each that is damaged
[[nodiscard]] std::vector<SnapshotEntry> find_snapshots(
    std::span<const std::filesystem::path> folders, const std::string& key,
    const std::function<void(std::string)>& warn = [](const std::string&) {});

/// What is compared with its hash when a part is opened; the structure always is.
enum class VerifyPieces { kAll, kLater };

/// A worker's part, mapped for reading. What belongs to a living process may change meanwhile.
class SnapshotFile {
 public:
  /// @throws CheckpointError naming the file and the piece.
  explicit SnapshotFile(const std::filesystem::path& file,
                        VerifyPieces verify = VerifyPieces::kAll);
  SnapshotFile(SnapshotFile&&) noexcept;
  SnapshotFile& operator=(SnapshotFile&&) noexcept;
  ~SnapshotFile();
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;

  [[nodiscard]] const SnapshotEntry& entry() const;
  /// In the order of the SnapshotMemory that wrote them.
  [[nodiscard]] const std::vector<TensorStretch>& pieces() const;
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t piece) const;
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// Reads one piece. @throws CheckpointError where it is not what its hash says.
  void verify(std::size_t piece) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// Removes the slots of the run `key` whose process no longer lives, and what was left of copies;
/// the living remove their own (SnapshotMemory::remove). Called when a job has ended well, and when
/// a new state is whole. @param newest  copies, and those set aside, of later steps stay
/// @return how many slots.
std::size_t remove_snapshots(std::span<const std::filesystem::path> folders, const std::string& key,
                             std::int64_t newest = std::numeric_limits<std::int64_t>::max());

/// The same, once the run's status says that it has ended with all of its state on the disk: at its
/// end, or stopped on request. Called by each worker as it leaves.
void remove_saved_snapshots(std::span<const std::filesystem::path> folders, const std::string& key,
                            const std::filesystem::path& run_directory);

/// Gives slots of steps beyond `step`, whose processes are gone, names that no new slot takes over.
/// @return the newest of these steps, or `step`
[[nodiscard]] std::int64_t set_newer_aside(std::span<const std::filesystem::path> folders,
                                           const std::string& key, std::int64_t step);

/// What copy_snapshots() copies to the disk, and the processes that share the work.
struct KeepSnapshots {
  std::filesystem::path shared_memory = kSharedMemoryFolder;
  std::filesystem::path folder;  ///< on the disk; made if missing
  std::string key;               ///< of the run
  /// Of this step and of all later ones: this host may not know which of them all workers have.
  std::int64_t from_step = 0;
  int begin_with = 0;  ///< this worker's slots, before those of others
  /// No other process of this host copies: halves of these slots are of killed ones, and go.
  bool is_alone = false;
  /// Called now and then, when more of it is on the disk.
  std::function<void()> progress = [] {};
};

/// Copies whole slots of a run from shared memory, durably: memory may be gone before the run goes
/// on. Copies that are there already stay, so the processes of a host share the
/// work; the oldest comes first, as it is the likeliest to be whole everywhere. A copy that
/// is not what its hashes say (its owner lives and has overwritten it) is dropped.
/// @return how many were copied. @throws EnvironmentError
std::size_t copy_snapshots(const KeepSnapshots& keep, const FileSystem& files = PosixFileSystem());

/// What reap_snapshots() found.
struct ReapedSnapshots {
  std::size_t removed = 0;
  std::size_t removed_bytes = 0;
  std::size_t kept = 0;  ///< of runs that can go on from them, or in use
  std::size_t kept_bytes = 0;
};

/// Removes slots of dead processes whose run directory is gone, whose run has ended well or has
/// been left alone for kSnapshotsKept, and those that hold no snapshot. All others stay: a run
/// may be resumed from them. A directory is gone where its parent is there without it, and seen as
/// the slot's maker saw it: the same path of another container, which shares this memory, says
/// nothing. A run that starts has shown its sign of life before its workers call this: the
/// coordinator has written its job.yaml.
ReapedSnapshots reap_snapshots(
    const std::filesystem::path& folder,
    std::filesystem::file_time_type now = std::filesystem::file_time_type::clock::now());

}  // namespace gangway::checkpoint
