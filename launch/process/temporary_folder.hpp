// SPDX-License-Identifier: MIT
// Folders for what a measurement leaves, gone with their owner. Those of killed owners are removed
// when the next is made, with what their runs have left in shared memory. Main thread.
// share/python/gangway/tools/measured.py makes and removes such folders, too.
#pragma once

#include <filesystem>
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

}  // namespace gangway::launch
