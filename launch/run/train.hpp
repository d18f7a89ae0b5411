// SPDX-License-Identifier: MIT
// `gangway train`: what every rank under mpirun or srun runs first; it becomes the coordinator
// (rank 0) or a worker.
#pragma once

#include <filesystem>
#include <string>

#include "launch/process/environment.hpp"
#include "run/start_request.hpp"

namespace gangway::launch {

/// This process's MPI rank, from what the launcher has set.
/// @throws EnvironmentError, one line with the remedy, when there is no launcher that MPI could
/// have been started by.
[[nodiscard]] int launched_rank(const Environment& environment);

/// Of the command line.
struct RankOptions {
  StartRequest asked;             ///< by the user of a bare mpirun
  std::filesystem::path request;  ///< RUN/request.json of `gangway run`, in its place
  /// Kind of device, as `gangway run` has read it in the job; empty under a bare mpirun.
  std::string device;
};

[[noreturn]] void train(const Environment& environment, RankOptions options);

}  // namespace gangway::launch
