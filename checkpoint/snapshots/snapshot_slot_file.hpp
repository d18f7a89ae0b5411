// SPDX-License-Identifier: MIT
// The file of a slot: made with all of its memory, or taken over from a dead process. Internal to
// the store's snapshots; any thread.
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
  /// Leaves a file with this header and table, claimed, mapped and touched. One of this user's for
  /// the same slot without a living owner keeps its snapshot where header and table are the same,
  /// and is replaced where not. Other users' files are passed over, whatever their names.
  /// @param path  its folder and slot_name()
  /// @throws EnvironmentError where there is no room, or a living process has it.
  SlotFile(std::filesystem::path path, const SlotHeader& header, std::span<const std::byte> table);

  [[nodiscard]] std::span<std::byte> bytes() const;
  /// The snapshot that the file held when it was taken over.
  [[nodiscard]] std::optional<SnapshotId> found() const { return found_; }
  /// Existing mappings stay. May be called twice.
  void remove_name() noexcept;

 private:
  [[nodiscard]] std::vector<std::filesystem::path> files_of_slot() const;
  bool take_over(const std::filesystem::path& path, const SlotHeader& header,
                 std::span<const std::byte> table);
  bool make(const SlotHeader& header, std::span<const std::byte> table);
  void reserve(std::size_t bytes);
  void map(std::size_t bytes);

  std::filesystem::path slot_;  ///< its folder and slot_name()
  std::filesystem::path path_;
  FileDescriptor file_;
  MappedMemory memory_;
  std::optional<SnapshotId> found_;
};

/// A slot's file mapped for reading; nothing where it is empty. @throws CheckpointError naming it
/// and the cause: none, a link, another user's, not a regular file.
[[nodiscard]] MappedMemory map_slot_file(const std::filesystem::path& path);

/// Whether the process that has claimed a slot's file lives; kGone: there is no such file of this
/// user.
enum class SlotOwner { kLiving, kDead, kGone };
[[nodiscard]] SlotOwner owner_of_slot(const std::filesystem::path& path);
/// Files in `folders` whose names are those of slots, of one run or (key empty) of all, sorted.
[[nodiscard]] std::vector<std::filesystem::path> slot_files(
    std::span<const std::filesystem::path> folders, const std::string& key);
/// Removes it unless a living process has it. Whether it did.
bool remove_slot_file(const std::filesystem::path& path) noexcept;

/// Where snapshots of `bytes` a slot have room.
struct SnapshotFolder {
  std::filesystem::path path;
  std::string reason;  ///< why it is not shared memory, in one line; else empty
};

/// Shared memory if all of this host's slots fit and leave an eighth of it free; else `fallback` (a
/// folder on a local disk, made if missing).
/// @param bytes_on_host  of all slots of all workers on this host
/// @param held  that such slots have there already, of an earlier start: they are taken over
/// @throws EnvironmentError where neither has room.
[[nodiscard]] SnapshotFolder choose_snapshot_folder(std::size_t bytes_on_host,
                                                    const std::filesystem::path& shared_memory,
                                                    const std::filesystem::path& fallback,
                                                    std::size_t held = 0);

/// What slots of the run `key`, of that many workers, have in `folder`.
[[nodiscard]] std::size_t bytes_of_slots(const std::filesystem::path& folder,
                                         const std::string& key, int num_workers);

}  // namespace gangway::checkpoint
