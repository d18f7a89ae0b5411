// SPDX-License-Identifier: MIT
// Lists the descendants of this process from /proc. The supervisor ends them when mpirun has ended,
// and finds stopped ones. Main thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/index.hpp"

namespace gangway::launch {

struct Descendant {
  pid_t pid = 0;
  std::string program;  ///< name, cut off after 15 letters
  char state = 'R';     ///< proc(5): T stopped, D waits for a disk, Z dead
};

/// Returns all live descendants, at any depth.
[[nodiscard]] std::vector<Descendant> descendants();

/// Returns the rank that Open MPI gave the process; nullopt: no rank of a job, or ended.
[[nodiscard]] std::optional<Rank> rank_of_process(pid_t pid);

/// Returns the state of one process; Z: it does not exist.
[[nodiscard]] char process_state(pid_t pid);

/// Makes this process the new parent of descendants whose parent dies.
void adopt_orphans();

}  // namespace gangway::launch
