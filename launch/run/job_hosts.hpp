// SPDX-License-Identifier: MIT
// Chooses the hosts and the number of workers of a job: from --hostfile, from Slurm's allocation,
// or this host alone. Called by `gangway run` before it makes anything, main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct JobHosts {
  /// Empty: this host alone. Within an allocation Open MPI uses no hosts but these, and starts its
  /// daemons there through Slurm.
  std::vector<Host> hosts;
  int workers = 1;
  std::string found;  ///< a line for the user; empty: only the typed options count
};

/// Returns the number of workers without -n: layout.data, else the most that micro-batches and
/// slots allow. @param slots  cores of this machine, or slots of the hostfile
[[nodiscard]] int default_workers(const JobSpec& spec, int slots);

/// @param hostfile  as typed; empty: none. @param workers  as typed; 0: none
/// @throws ConfigError, EnvironmentError
[[nodiscard]] JobHosts choose_hosts(const std::filesystem::path& hostfile, int workers,
                                    const JobSpec& spec, const Environment& environment);

/// Returns each worker's host name, indexed by worker.
[[nodiscard]] std::vector<std::string> hosts_of(const JobHosts& where);

}  // namespace gangway::launch
