// SPDX-License-Identifier: MIT
// Writes a file so that it exists whole or not at all: writes `PATH.tmp`, fsyncs it, renames it,
// fsyncs the folder.
//
// Used for all that must survive a kill: run directory, manifests, checkpoints. Any thread; one
// writer per path. A writer overwrites the `PATH.tmp` that a killed writer left.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace gangway {

/// Refuses a `path` that is no regular file: a rename to it would replace a device or a pipe.
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
  /// Without commit(), `path` keeps its former content.
  ~AtomicFile();

  /// Appends `content`. @throws EnvironmentError, on a full disk for example.
  void write(std::string_view content);
  /// Puts the file in place; it survives a power cut once this returns. Call once.
  /// @throws EnvironmentError
  void commit();
  /// Same without waiting for the disk: after a power cut, the file may lack its content.
  void put_in_place();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
  bool committed_ = false;
};

/// Writes `content` to `path` through AtomicFile, then commits. @throws EnvironmentError
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Appends `line` and a newline; first ends a line that a crash has cut. The line is on the disk
/// when this returns. One writer per path. @throws EnvironmentError
void append_line(const std::filesystem::path& path, std::string_view line);

/// Returns the whole content of `path`, or nothing if it does not exist.
/// @throws EnvironmentError if it cannot be read or is larger than `limit_bytes`.
[[nodiscard]] std::optional<std::string> read_small_file(const std::filesystem::path& path,
                                                         std::size_t limit_bytes);

/// Makes renames and new names in `directory` durable. @throws EnvironmentError
void sync_directory(const std::filesystem::path& directory);

}  // namespace gangway
