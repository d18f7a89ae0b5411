// SPDX-License-Identifier: MIT
// System calls behind the store: new files that are on the disk or do not exist, and bounded reads
// that follow no link. Internal to the store; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "job/file_descriptor.hpp"

namespace gangway::checkpoint {

/// "No space left on device" for an errno value.
[[nodiscard]] std::string cause_of(int error_number);

/// A file that did not exist before. Removed again unless finish() succeeded.
class NewFile {
 public:
  /// Creates it and reserves `bytes`. @throws EnvironmentError naming path and cause; a full disk
  /// says what is needed and what is free.
  NewFile(std::filesystem::path path, std::uint64_t bytes);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends. @throws EnvironmentError.
  void write(std::span<const std::byte> bytes);
  /// Syncs and closes. After a failed sync the content is lost for good (the kernel marks the pages
  /// clean), so the file is removed and never synced again. @throws EnvironmentError.
  void finish();

 private:
  void reserve(std::uint64_t bytes) const;
  [[noreturn]] void fail(const std::string& what, int error_number) const;

  std::filesystem::path path_;
  FileDescriptor fd_;
  bool finished_ = false;
};

/// Creates, writes, syncs and closes `path`. @throws EnvironmentError.
void write_new_file(const std::filesystem::path& path, std::string_view text);

/// Makes the entries of a folder durable. @throws EnvironmentError.
void sync_directory(const std::filesystem::path& directory);

/// A regular file opened for reading (no link followed, no device, no pipe) and its size.
struct OpenFile {
  FileDescriptor fd;
  std::uint64_t bytes = 0;
};
/// @throws CheckpointError naming path and cause.
[[nodiscard]] OpenFile open_regular_file(const std::filesystem::path& path);

/// Fills `out` from `offset`. @throws CheckpointError at an error or an early end.
void read_exactly(const OpenFile& file, std::uint64_t offset, std::span<std::byte> out,
                  const std::filesystem::path& path);

/// The whole of a small file. @throws CheckpointError when it cannot be read or exceeds
/// `max_bytes`.
[[nodiscard]] std::string read_small_file(const std::filesystem::path& path, std::size_t max_bytes);

/// XXH3-128 of a file, by read(): a bad sector is an error here, not a signal. @throws
/// CheckpointError.
[[nodiscard]] std::string hash_file(const std::filesystem::path& path);

}  // namespace gangway::checkpoint
