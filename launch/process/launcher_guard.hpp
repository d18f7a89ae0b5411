// SPDX-License-Identifier: MIT
// A small process that outlives a killed supervisor by a few seconds and ends mpirun, which does
// not always end with its last rank. Used by the supervisor.
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

/// Starts the guard, a child of this process. When the result is closed, by whatever, it ends at
/// once if mpirun has ended, and else kills mpirun after the time in which ranks leave
/// (run/tether.hpp). Without a process to spare there is none.
[[nodiscard]] FileDescriptor guard_launcher(pid_t mpirun);

}  // namespace gangway::launch
