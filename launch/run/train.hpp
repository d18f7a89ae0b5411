// SPDX-License-Identifier: MIT
// `gangway train`: the first program of every rank under mpirun or srun. It becomes the coordinator
// (rank 0) or a worker.
#pragma once

#include <filesystem>
#include <string>

#include "base/index.hpp"
#include "launch/process/environment.hpp"
#include "run/start_request.hpp"

namespace gangway::launch {

/// Returns this process's MPI rank, from the launcher's variables.
/// @throws EnvironmentError, one line with the remedy, if no launcher that can start MPI is found
[[nodiscard]] Rank launched_rank(const Environment& environment);

/// Options of the command line.
struct RankOptions {
  StartRequest asked;             ///< options of a bare mpirun
  std::filesystem::path request;  ///< RUN/request.json of `gangway run`; replaces `asked`
  /// Kind of device from the job, set by `gangway run`; empty under a bare mpirun.
  std::string device;
};

[[noreturn]] void train(const Environment& environment, RankOptions options);

}  // namespace gangway::launch
