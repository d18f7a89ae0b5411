// SPDX-License-Identifier: MIT
// System calls with which the store changes a disk, passed in by reference. A test makes each of
// them fail, or cuts the power at it (tests/checkpoint/crash_points_test.cpp). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::checkpoint {

/// Each function returns the system call's result and leaves errno as the call does.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Creates a file and opens it for writing. @return -1 if the name exists, also as a link.
  [[nodiscard]] virtual FileDescriptor create(const std::filesystem::path& path,
                                              mode_t mode) const = 0;
  /// @return an error number, as posix_fallocate(3) does; errno does not change
  [[nodiscard]] virtual int reserve(const FileDescriptor& file, std::uint64_t bytes) const = 0;
  /// May write less than `bytes`.
  [[nodiscard]] virtual ssize_t write(const FileDescriptor& file,
                                      std::span<const std::byte> bytes) const = 0;
  [[nodiscard]] virtual int sync(const FileDescriptor& file) const = 0;
  [[nodiscard]] virtual int close(FileDescriptor file) const = 0;
  /// May read less than `out`.
  [[nodiscard]] virtual ssize_t read(const FileDescriptor& file, std::uint64_t offset,
                                     std::span<std::byte> out) const = 0;

  [[nodiscard]] virtual int rename(const std::filesystem::path& from,
                                   const std::filesystem::path& to) const = 0;
  /// Fails with EEXIST if `to` exists; with EINVAL or ENOSYS if the file system lacks the call.
  [[nodiscard]] virtual int rename_to_new(const std::filesystem::path& from,
                                          const std::filesystem::path& to) const = 0;
  virtual int remove(const std::filesystem::path& file) const = 0;
  [[nodiscard]] virtual int make_folder(const std::filesystem::path& folder) const = 0;
  [[nodiscard]] virtual int remove_folder(const std::filesystem::path& folder) const = 0;
  /// Makes the names in a folder durable.
  [[nodiscard]] virtual int sync_folder(const std::filesystem::path& folder) const = 0;
};

/// Calls the operating system. Stateless, so make an object where it is needed.
class PosixFileSystem : public FileSystem {
 public:
  [[nodiscard]] FileDescriptor create(const std::filesystem::path& path,
                                      mode_t mode) const override;
  [[nodiscard]] int reserve(const FileDescriptor& file, std::uint64_t bytes) const override;
  [[nodiscard]] ssize_t write(const FileDescriptor& file,
                              std::span<const std::byte> bytes) const override;
  [[nodiscard]] int sync(const FileDescriptor& file) const override;
  [[nodiscard]] int close(FileDescriptor file) const override;
  [[nodiscard]] ssize_t read(const FileDescriptor& file, std::uint64_t offset,
                             std::span<std::byte> out) const override;
  [[nodiscard]] int rename(const std::filesystem::path& from,
                           const std::filesystem::path& to) const override;
  [[nodiscard]] int rename_to_new(const std::filesystem::path& from,
                                  const std::filesystem::path& to) const override;
  int remove(const std::filesystem::path& file) const override;
  [[nodiscard]] int make_folder(const std::filesystem::path& folder) const override;
  [[nodiscard]] int remove_folder(const std::filesystem::path& folder) const override;
  [[nodiscard]] int sync_folder(const std::filesystem::path& folder) const override;
};

}  // namespace gangway::checkpoint
