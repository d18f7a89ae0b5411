// SPDX-License-Identifier: MIT
// `gangway train`: what every rank under mpirun or srun runs first; it becomes the coordinator
// (rank 0) or a worker.
#pragma once

#include <string>
#include <vector>

#include "launch/environment.hpp"

namespace gangway::launch {

/// This process's MPI rank, from what the launcher has set.
/// @throws EnvironmentError, one line with the remedy, when there is no launcher that MPI could
/// have been started by.
[[nodiscard]] int launched_rank(const Environment& environment);

/// @param arguments what followed `gangway train`, for the coordinator.
[[noreturn]] void train(const Environment& environment, const std::vector<std::string>& arguments);

}  // namespace gangway::launch
