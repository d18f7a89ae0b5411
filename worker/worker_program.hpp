// SPDX-License-Identifier: MIT
// One MPI rank that computes, from its start to its exit code. Started by `gangway train` under
// mpirun or srun.
#pragma once

#include "worker/compute_device.hpp"

namespace gangway::worker {

/// The body of a worker's main().
/// @param name    of the program, for messages
/// @param device  what it says to the coordinator: "cpu", "cuda"
/// @param make    called once, when the job and the neighbours are known
[[nodiscard]] int worker_program(const char* name, const char* device, const DeviceMaker& make);

}  // namespace gangway::worker
