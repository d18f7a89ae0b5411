// SPDX-License-Identifier: MIT
// That one job at a time works in a run directory.
#pragma once

#include <filesystem>

#include "base/file_descriptor.hpp"

namespace gangway {

/// Held while a job works in a run directory; released by the kernel when the process dies, however
/// it dies.
class RunLock {
 public:
  /// @throws EnvironmentError that names the holder's pid and host, if another process has it.
  explicit RunLock(const std::filesystem::path& run_directory);

 private:
  FileDescriptor file_;
};

}  // namespace gangway
