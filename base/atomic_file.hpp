// SPDX-License-Identifier: MIT
// Writes a file that exists whole or not at all: into `PATH.tmp`, fsync, rename, fsync of the
// folder.
//
// For everything that must survive a kill: run directory, manifests, checkpoints. Any thread; one
// writer a path. The next writer overwrites the `PATH.tmp` of a killed one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace gangway {

/// What is renamed to `path` takes its place, and that of a device or a pipe would be taken, too.
/// @throws EnvironmentError with the remedy
void require_replaceable(const std::filesystem::path& path);

class AtomicFile {
 public:
  /// Opens `path.tmp`, empty. @throws EnvironmentError: one line with the path, the cause and the
  /// remedy.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Without commit() the place keeps what it had.
  ~AtomicFile();

  /// Appends `content`. @throws EnvironmentError, on a full disk for example.
  void write(std::string_view content);
  /// From its return on the file exists, also after a power cut. Call once. @throws
  /// EnvironmentError
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
  bool committed_ = false;
};

/// AtomicFile with one write. @throws EnvironmentError
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Appends `line` and a line's end, behind a line that a crash has cut; from its return on it is on
/// the disk. One writer a path. @throws EnvironmentError
void append_line(const std::filesystem::path& path, std::string_view line);

/// The whole content of `path`, or nothing if it does not exist.
/// @throws EnvironmentError if it cannot be read or is larger than `limit_bytes`.
[[nodiscard]] std::optional<std::string> read_small_file(const std::filesystem::path& path,
                                                         std::size_t limit_bytes);

/// Makes renames and new names in `directory` durable. @throws EnvironmentError
void sync_directory(const std::filesystem::path& directory);

}  // namespace gangway
