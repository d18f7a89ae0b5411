// SPDX-License-Identifier: MIT
// The processes below this one, as /proc shows them: what the supervisor ends when mpirun is gone,
// and what it finds stopped. Main thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gangway::launch {

struct Descendant {
  pid_t pid = 0;
  std::string program;  ///< its name, cut off after 15 letters
  char state = 'R';     ///< proc(5): T stopped, D waits for a disk, Z dead
};

/// All of them, those of descendants included, without the dead.
[[nodiscard]] std::vector<Descendant> descendants();

/// As Open MPI has started it; nothing: it is no rank of a job, or has ended.
[[nodiscard]] std::optional<int> rank_of_process(pid_t pid);

/// State of one process; Z: there is none.
[[nodiscard]] char process_state(pid_t pid);

/// Processes whose parent dies become children of this one from now on.
void adopt_orphans();

}  // namespace gangway::launch
