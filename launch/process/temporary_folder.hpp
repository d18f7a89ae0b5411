// SPDX-License-Identifier: MIT
// Folders for what a measurement leaves, gone with their owner unless the user named them; those of
// killed owners are removed when the next is made, and what their runs have left in shared memory
// with them. Called by `gangway bench`, `tune` and `run --fit`, main thread.
// share/python/gangway/tools/measured.py makes and removes such folders, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

class TemporaryFolder {
 public:
  /// By default in the system's folder for temporary files. @throws EnvironmentError
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  FileDescriptor held_;  ///< locked as long as the owner lives
};

/// The folder that the user named, made if missing, which stays; or a temporary one.
class BenchFolder {
 public:
  /// @param named  empty: none. @throws EnvironmentError
  explicit BenchFolder(const std::string& named);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  ///< absolute

 private:
  std::optional<TemporaryFolder> temporary_;
  std::filesystem::path path_;
};

}  // namespace gangway::launch
