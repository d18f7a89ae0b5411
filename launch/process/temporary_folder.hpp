// SPDX-License-Identifier: MIT
// Folders for what a benchmark leaves, gone with their owner unless the user named them. Called by
// `gangway bench`, main thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

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
