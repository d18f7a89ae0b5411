// SPDX-License-Identifier: MIT
// Writes new files that are either complete on the disk or removed; reads files without following
// links. Internal to the store; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "checkpoint/files/file_system.hpp"

namespace gangway::checkpoint {

/// Returns "No space left on device" for an errno value.
[[nodiscard]] std::string cause_of(int error_number);

/// Returns the end of a message: "; free some space …", the user's remedy while the training goes
/// on without this checkpoint. Empty if there is none.
[[nodiscard]] std::string saving_remedy(int error_number);

/// Whether the kernel caches the bytes that are read or written.
enum class Caching {
  kPages,
  kDirect,  ///< bypasses the cache if the file system supports it; else as kPages
};

/// When a file must be on the disk.
enum class Durability {
  kNow,
  kWhenever,  ///< its loss does no harm
};

/// The users that may read a new file, from its first byte on.
enum class Readers { kAll, kOwner };

/// Writes a file that did not exist. The destructor removes it unless finish() succeeded.
class NewFile {
 public:
  /// Creates it and reserves `bytes`. @throws EnvironmentError naming path and cause; for a full
  /// disk also the space needed and free.
  NewFile(const FileSystem& files, std::filesystem::path path, std::uint64_t bytes,
          Caching caching = Caching::kPages, Readers readers = Readers::kAll);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends; bypasses the kernel's cache while all bytes are aligned. @throws EnvironmentError.
  void write(std::span<const std::byte> bytes);
  /// Waits until all written bytes are on the disk. @throws EnvironmentError.
  void sync();
  /// Syncs, if requested, and closes. A failed sync loses the content (the kernel marks the pages
  /// clean), so the file is removed and never synced again. @throws EnvironmentError.
  void finish(Durability durability = Durability::kNow);

 private:
  void reserve(std::uint64_t bytes) const;
  void leave_direct();
  /// Returns the part of `bytes` for the next system call.
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

/// Makes later reads bypass the kernel's cache if the file system supports it. Offsets and
/// addresses must then be aligned; sizes may end with the file.
void prefer_direct(const OpenFile& file);

/// Fills `out` from `offset`. @throws CheckpointError on an error or an early end of file.
void read_exactly(const OpenFile& file, std::uint64_t offset, std::span<std::byte> out,
                  const std::filesystem::path& path, const FileSystem& files = PosixFileSystem());

/// Returns all of a checkpoint's file. @throws CheckpointError if it is missing (damage), cannot be
/// read, is not a regular file or exceeds `max_bytes`.
[[nodiscard]] std::string read_stored_file(const std::filesystem::path& path,
                                           std::size_t max_bytes);

/// Returns the XXH3-128 of a file. Calls read(), because a mapping turns a bad sector into a
/// signal. @throws CheckpointError.
[[nodiscard]] std::string hash_file(const std::filesystem::path& path);

}  // namespace gangway::checkpoint
