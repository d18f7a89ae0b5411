// SPDX-License-Identifier: MIT
// A folder that is gone with its owner. Called by `gangway bench`, main thread.
#pragma once

#include <filesystem>

namespace gangway::launch {

class TemporaryFolder {
 public:
  /// In the system's folder for temporary files. @throws EnvironmentError
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gangway::launch
