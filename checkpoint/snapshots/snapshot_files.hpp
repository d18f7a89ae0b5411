// SPDX-License-Identifier: MIT
// Finds, verifies, copies and removes the snapshots on this host, of living and dead processes.
// Called by a worker's start, at the end of a run and by `gangway doctor`. Any thread. Checks all
// content before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/shared_segment.hpp"
#include "checkpoint/files/file_system.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/snapshots/snapshot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

/// Returns the folders that may hold a run's snapshots: shared memory and the run's own folder.
[[nodiscard]] std::vector<std::filesystem::path> snapshot_folders(
    const std::filesystem::path& run_directory,
    const std::filesystem::path& shared_memory = kSharedMemoryFolder);

/// A slot that is marked complete and has a sound header; its data has not been read.
struct SnapshotEntry {
  std::filesystem::path file;
  std::filesystem::path run_directory;
  std::string key;  ///< snapshot_key() of its run
  SnapshotId id;
  int worker = 0;
  int replica = 0;
  std::size_t bytes = 0;   ///< bytes of data
  bool is_in_use = false;  ///< its process lives
};

/// Finds the complete slots of run `key` in `folders`, of all workers: newest first, then by worker
/// and replica. Skips slots that are empty, half written, foreign or damaged.
/// @param warn  gets one line for each damaged slot
[[nodiscard]] std::vector<SnapshotEntry> find_snapshots(
    std::span<const std::filesystem::path> folders, const std::string& key,
    const std::function<void(std::string)>& warn = [](const std::string&) {});

/// Whether opening a part also compares its pieces with their hashes; structure is always checked.
enum class VerifyPieces { kAll, kLater };

/// Maps a worker's part for reading. A living owner may change the content meanwhile.
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
  /// Returns the pieces in the order of the SnapshotMemory that wrote them.
  [[nodiscard]] const std::vector<TensorStretch>& pieces() const;
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t piece) const;
  [[nodiscard]] PieceHash hash(std::size_t piece) const;
  /// Reads one piece. @throws CheckpointError if its hash differs.
  void verify(std::size_t piece) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

/// Removes slots of run `key` whose process is dead, and unfinished copies. Living processes remove
/// their own slots (SnapshotMemory::remove). Called when a job has ended well and when a new state
/// is complete.
/// @param newest  copies and set-aside slots of later steps stay. @return number of slots removed
std::size_t remove_snapshots(std::span<const std::filesystem::path> folders, const std::string& key,
                             std::int64_t newest = std::numeric_limits<std::int64_t>::max());

/// Calls remove_snapshots() if the run's status says that it finished, or stopped on request, with
/// all state on the disk. Called by each worker as it leaves.
void remove_saved_snapshots(std::span<const std::filesystem::path> folders, const std::string& key,
                            const std::filesystem::path& run_directory);

/// Renames slots of dead processes with steps after `step`, so that no new slot takes them over.
/// @return the newest step among them, or `step`
[[nodiscard]] std::int64_t set_newer_aside(std::span<const std::filesystem::path> folders,
                                           const std::string& key, std::int64_t step);

/// Arguments of copy_snapshots(): which slots it copies to the disk, and how.
struct KeepSnapshots {
  std::filesystem::path shared_memory = kSharedMemoryFolder;
  std::filesystem::path folder;  ///< on the disk; made if missing
  std::string key;               ///< snapshot_key() of the run
  /// Copies this step and all later ones: this host may not know which step all workers have.
  std::int64_t from_step = 0;
  int begin_with = 0;  ///< worker whose slots are copied first
  /// No other process of this host copies, so half copies come from killed processes: remove them.
  bool is_sole_copier = false;
  /// Called now and then, after more bytes reached the disk.
  std::function<void()> progress = [] {};
};

/// Copies a run's complete slots from shared memory to the disk, durably: a reboot clears memory.
/// Existing copies stay, so the processes of a host share the work. Copies the oldest step first:
/// it is most likely complete on all hosts. Drops a copy whose hashes differ, because its living
/// owner has overwritten the slot.
/// @return number of slots copied. @throws EnvironmentError
std::size_t copy_snapshots(const KeepSnapshots& keep, const FileSystem& files = PosixFileSystem());

/// Counts of reap_snapshots().
struct ReapedSnapshots {
  std::size_t removed = 0;
  std::size_t removed_bytes = 0;
  std::size_t kept = 0;  ///< in use, or of runs that can be resumed
  std::size_t kept_bytes = 0;
};

/// Removes slots of dead processes if they hold no snapshot or their run is over. A run is over if
/// it ended well, is untouched for kSnapshotsKept, or its directory is gone. A directory is gone if
/// its parent exists without it, as the slot's maker saw it. A path of another container that
/// shares this memory does not count. A starting run has a fresh sign of life, because the
/// coordinator writes job.yaml before its workers call this.
ReapedSnapshots reap_snapshots(
    const std::filesystem::path& folder,
    std::filesystem::file_time_type now = std::filesystem::file_time_type::clock::now());

}  // namespace gangway::checkpoint
