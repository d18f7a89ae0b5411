// SPDX-License-Identifier: MIT
// System calls behind the store: new files that are on the disk or do not exist, and bounded reads
// that follow no link. Internal to the store; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// "No space left on device" for an errno value.
[[nodiscard]] std::string cause_of(int error_number);

/// What a person can do about it while the training goes on without this checkpoint, to end a
/// message with: "; free some space …", or nothing.
[[nodiscard]] std::string saving_remedy(int error_number);

/// Whether the kernel keeps a copy of what is read or written.
enum class Caching {
  kPages,
  kDirect,  ///< where the file system takes it; kPages where not
};

/// When a file is to be on the disk.
enum class Durability {
  kNow,
  kWhenever,  ///< nothing is lost with it
};

/// The users that may read a new file, from its first byte on.
enum class Readers { kAll, kOwner };

/// A file that did not exist before. Removed again unless finish() succeeded.
class NewFile {
 public:
  /// Creates it and reserves `bytes`. @throws EnvironmentError naming path and cause; a full disk
  /// says what is needed and what is free.
  NewFile(const FileSystem& files, std::filesystem::path path, std::uint64_t bytes,
          Caching caching = Caching::kPages, Readers readers = Readers::kAll);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends. Goes past the kernel's cache as long as all is aligned. @throws EnvironmentError.
  void write(std::span<const std::byte> bytes);
  /// Waits until the disk has what was written so far. @throws EnvironmentError.
  void sync();
  /// Syncs, if asked to, and closes. After a failed sync the content is lost for good (the kernel
  /// marks the pages clean), so the file is removed and never synced again. @throws
  /// EnvironmentError.
  void finish(Durability durability = Durability::kNow);

 private:
  void reserve(std::uint64_t bytes) const;
  void leave_direct();
  /// The part of `bytes` that the next call to the system may get.
  [[nodiscard]] std::span<const std::byte> writable_part(std::span<const std::byte> bytes);
  [[noreturn]] void fail(const std::string& what, int error_number) const;

  const FileSystem& files_;
  std::filesystem::path path_;
  FileDescriptor fd_;
  bool is_direct_ = false;
  bool finished_ = false;
};

/// Creates, writes and closes `path`. @throws EnvironmentError.
void write_new_file(const FileSystem& files, const std::filesystem::path& path,
                    std::string_view text, Durability durability = Durability::kNow);

/// Makes the entries of a folder durable. @throws EnvironmentError.
void sync_directory(const FileSystem& files, const std::filesystem::path& directory);

/// A regular file opened for reading (no link followed, no device, no pipe) and its size.
struct OpenFile {
  FileDescriptor fd;
  std::uint64_t bytes = 0;
};
/// @throws CheckpointError naming path and cause.
[[nodiscard]] OpenFile open_regular_file(const std::filesystem::path& path);

/// From now on reads go past the kernel's cache, if the file system takes that. Offsets and
/// addresses are then to be aligned, sizes may end with the file.
void prefer_direct(const OpenFile& file);

/// Fills `out` from `offset`. @throws CheckpointError at an error or an early end.
void read_exactly(const OpenFile& file, std::uint64_t offset, std::span<std::byte> out,
                  const std::filesystem::path& path, const FileSystem& files = PosixFileSystem());

/// The whole of a file that is part of a checkpoint: a missing one is damage. @throws
/// CheckpointError when it cannot be read, is no regular file or exceeds `max_bytes`.
[[nodiscard]] std::string read_stored_file(const std::filesystem::path& path,
                                           std::size_t max_bytes);

/// XXH3-128 of a file, by read(): a bad sector is an error here, not a signal. @throws
/// CheckpointError.
[[nodiscard]] std::string hash_file(const std::filesystem::path& path);

}  // namespace gangway::checkpoint
