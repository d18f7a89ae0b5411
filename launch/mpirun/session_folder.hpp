// SPDX-License-Identifier: MIT
// Holds TMPDIR/ompi.HOST.UID, the parent of the files of one user's Open MPI launchers. If two
// launchers create it at once, one ends with "File exists" (Open MPI 4.1.4); the last launcher
// removes it. Called by `gangway run` around mpirun; any thread.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

/// Returns the path that Open MPI 4.1 uses on this host.
[[nodiscard]] std::filesystem::path session_folder();

/// Keeps the folder in existence while this object lives.
class HeldSessionFolder {
 public:
  /// Ignores a failure to create the folder: mpirun reports it.
  explicit HeldSessionFolder(std::filesystem::path folder = session_folder());
  ~HeldSessionFolder();
  HeldSessionFolder(const HeldSessionFolder&) = delete;
  HeldSessionFolder& operator=(const HeldSessionFolder&) = delete;

 private:
  std::filesystem::path folder_;
  std::filesystem::path held_;  ///< entry in it: launchers remove only an empty folder
  FileDescriptor lock_;         ///< of the entry: the next run removes entries without a lock
};

/// Removes the files of a launcher that ended, which a killed one leaves. Ignores failures.
void remove_session_of(pid_t launcher);

}  // namespace gangway::launch
