// SPDX-License-Identifier: MIT
// Runs one MPI rank that computes, from its start to its exit code. Started by `gangway train`
// under mpirun or srun.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// Runs a worker and returns its exit code; called by its main().
/// @param arguments  of the program, its name first: they link it to `gangway run`
/// @param device     kind reported to the coordinator: "cpu", "cuda"
/// @param make       called once, when the job and the neighbours are known
/// @param network    returns the devices' network, for the log; null: only hosts send
[[nodiscard]] int worker_program(std::span<char* const> arguments, const char* device,
                                 const DeviceMaker& make,
                                 const std::function<std::string()>& network = nullptr);

}  // namespace gangway::worker
