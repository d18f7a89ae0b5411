// SPDX-License-Identifier: MIT
// Temporary folders for measurements, removed with their owner. Making a folder removes those of
// killed owners, and the shared memory that their runs left. Main thread.
// share/python/gangway/tools/measured.py makes and removes such folders, too.
#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

/// Locks a folder while the result lives; empty if another process holds it, or it no longer
/// exists.
[[nodiscard]] FileDescriptor hold_folder(const std::filesystem::path& folder);

class TemporaryFolder {
 public:
  /// Makes the folder in `parent`. @throws EnvironmentError
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor held_;  ///< locked while the owner lives
};

}  // namespace gangway::launch
