// SPDX-License-Identifier: MIT
// Starts a small process that outlives a killed supervisor by seconds and ends mpirun, because
// mpirun may stay after its last rank. Called by the supervisor.
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

/// Starts the guard, a child of this process. Once the result is closed, it waits for mpirun's end,
/// kills mpirun after the time that ranks need to leave (run/tether.hpp), and removes the files
/// that a killed mpirun leaves. Does nothing if no process can be created.
[[nodiscard]] FileDescriptor guard_launcher(pid_t mpirun);

}  // namespace gangway::launch
