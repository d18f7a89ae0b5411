// SPDX-License-Identifier: MIT
// Makes a slot's file with all of its memory, or takes it over from a dead process. Called by
// SnapshotMemory and by the start of a worker. Internal to the snapshots; any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "run/snapshot_id.hpp"

namespace gangway::checkpoint {

class SlotFile {
 public:
  /// Makes the file with this header and table: owned, mapped and touched. Takes over this user's
  /// file of the same slot if its owner is dead. Its snapshot stays if header and table are the
  /// same. Ignores files of other users.
  /// @param path  the folder and slot_name()
  /// @throws EnvironmentError if memory is short or a living process owns the file.
  SlotFile(std::filesystem::path path, const SlotHeader& header, std::span<const std::byte> table);

  [[nodiscard]] std::span<std::byte> bytes() const;
  /// Returns the snapshot that the file already held when it was taken over.
  [[nodiscard]] std::optional<SnapshotId> found() const { return found_; }
  /// Unlinks the file; existing mappings stay. May be called twice.
  void remove_name() noexcept;

 private:
  [[nodiscard]] std::vector<std::filesystem::path> files_of_slot() const;
  bool take_over(const std::filesystem::path& path, const SlotHeader& header,
                 std::span<const std::byte> table);
  bool make(const SlotHeader& header, std::span<const std::byte> table);
  void reserve(std::size_t bytes);
  void map(std::size_t bytes);

  std::filesystem::path slot_;  ///< folder and slot_name()
  std::filesystem::path path_;
  FileDescriptor file_;
  MappedMemory memory_;
  std::optional<SnapshotId> found_;
};

/// Maps a slot's file for reading; an empty file gives an empty mapping. @throws CheckpointError
/// naming the file and the cause: missing, a link, another user's, not a regular file.
[[nodiscard]] MappedMemory map_slot_file(const std::filesystem::path& path);

/// Says whether the process that owns a slot's file lives. kGone: this user has no such file.
enum class SlotOwner { kLiving, kDead, kGone };
[[nodiscard]] SlotOwner owner_of_slot(const std::filesystem::path& path);
/// Returns the slot files in `folders`, of run `key` or (key empty) of all runs, sorted.
[[nodiscard]] std::vector<std::filesystem::path> slot_files(
    std::span<const std::filesystem::path> folders, const std::string& key);
/// Removes the file unless a living process owns it. @return whether it was removed
bool remove_slot_file(const std::filesystem::path& path) noexcept;

/// Says which folder the snapshots go to.
struct SnapshotFolder {
  std::filesystem::path path;
  std::string reason;  ///< why it is not shared memory, in one line; else empty
};

/// Returns shared memory if all of this host's slots fit and leave an eighth of it free; else
/// `fallback` (a folder on a local disk, made if missing).
/// @param bytes_on_host  bytes of all slots of all workers on this host
/// @param held  bytes of the slots of an earlier start in shared memory, which are taken over
/// @throws EnvironmentError if neither has room.
[[nodiscard]] SnapshotFolder choose_snapshot_folder(std::size_t bytes_on_host,
                                                    const std::filesystem::path& shared_memory,
                                                    const std::filesystem::path& fallback,
                                                    std::size_t held = 0);

/// Returns the bytes in `folder` of the slots of run `key` with `num_workers` workers.
[[nodiscard]] std::size_t bytes_of_slots(const std::filesystem::path& folder,
                                         const std::string& key, int num_workers);

}  // namespace gangway::checkpoint
