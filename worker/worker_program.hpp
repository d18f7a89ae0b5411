// SPDX-License-Identifier: MIT
// One MPI rank that computes, from its start to its exit code. Started by `gangway train` under
// mpirun or srun.
#pragma once

#include <span>

#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// The body of a worker's main().
/// @param arguments  the program's, its name first: what ties it to `gangway run`
/// @param device     what it says to the coordinator: "cpu", "cuda"
/// @param make       called once, when the job and the neighbours are known
[[nodiscard]] int worker_program(std::span<char* const> arguments, const char* device,
                                 const DeviceMaker& make);

}  // namespace gangway::worker
