// SPDX-License-Identifier: MIT
// One MPI rank that computes, from its start to its exit code. Started by `gangway train` under
// mpirun or srun.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// The body of a worker's main().
/// @param arguments  the program's, its name first: what ties it to `gangway run`
/// @param device     what it says to the coordinator: "cpu", "cuda"
/// @param make       called once, when the job and the neighbours are known
/// @param network    what devices send over, for the log, once workers have met; null: hosts send
[[nodiscard]] int worker_program(std::span<char* const> arguments, const char* device,
                                 const DeviceMaker& make,
                                 const std::function<std::string()>& network = nullptr);

}  // namespace gangway::worker
