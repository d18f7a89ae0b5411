// SPDX-License-Identifier: MIT
// The folder below which Open MPI's launchers of one user keep files: TMPDIR/ompi.HOST.UID. Of two
// launchers that make it at the same moment one ends with "File exists" (Open MPI 4.1.4), and the
// last one to end removes it. Called by `gangway run` before mpirun; any thread.
#pragma once

#include <filesystem>

namespace gangway::launch {

/// As Open MPI 4.1 chooses it on this host.
[[nodiscard]] std::filesystem::path session_folder();

/// While one lives, its folder is there.
class HeldSessionFolder {
 public:
  /// Where it cannot be made, mpirun says so.
  explicit HeldSessionFolder(std::filesystem::path folder = session_folder());
  ~HeldSessionFolder();
  HeldSessionFolder(const HeldSessionFolder&) = delete;
  HeldSessionFolder& operator=(const HeldSessionFolder&) = delete;

 private:
  std::filesystem::path folder_;
  std::filesystem::path held_;  ///< in it: launchers remove it when it is empty
};

}  // namespace gangway::launch
