// SPDX-License-Identifier: MIT
// Locks a run directory, so that only one job at a time works in it.
#pragma once

#include <filesystem>

#include "base/file_descriptor.hpp"

namespace gangway {

/// Holds the lock of a run directory while a job works in it. The kernel releases the lock whenever
/// the process dies.
class RunLock {
 public:
  /// Takes the lock. @throws EnvironmentError with the holder's pid and host if it is taken
  explicit RunLock(const std::filesystem::path& run_directory);

 private:
  FileDescriptor file_;
};

}  // namespace gangway
