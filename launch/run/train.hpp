// SPDX-License-Identifier: MIT
// `gangway train`: what every rank under mpirun or srun runs first; it becomes the coordinator
// (rank 0) or a worker.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::launch {

/// This process's MPI rank, from what the launcher has set.
/// @throws EnvironmentError, one line with the remedy, when there is no launcher that MPI could
/// have been started by.
[[nodiscard]] int launched_rank(const Environment& environment);

/// What a rank has to know of the command line.
struct RankOptions {
  /// Kind of device, as `gangway run` has read it in the job; empty under a bare mpirun.
  std::string device;
  std::filesystem::path request;   ///< RUN/request.json; empty under a bare mpirun
  std::filesystem::path job_file;  ///< of a bare mpirun, as its overrides
  std::vector<std::string> overrides;
};

/// @param arguments what followed `gangway train`, for the coordinator.
[[noreturn]] void train(const Environment& environment, const std::vector<std::string>& arguments,
                        const RankOptions& options);

}  // namespace gangway::launch
