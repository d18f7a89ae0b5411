// SPDX-License-Identifier: MIT
// Where the ranks of a job may be, and how many workers it gets: by --hostfile, by Slurm's
// allocation, or this host alone. Asked by `gangway run` before anything is made, main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct JobHosts {
  /// Empty: this host alone. Of an allocation Open MPI takes no other hosts than those named, and
  /// has Slurm start its daemons there.
  std::vector<Host> hosts;
  int workers = 1;
  std::string found;  ///< one line to say; empty: nothing but what was typed
};

/// Workers when -n is not given: layout.data, else what micro-batches and slots allow.
/// @param slots cores of this machine, or slots of the hostfile.
[[nodiscard]] int default_workers(const JobSpec& spec, int slots);

/// @param hostfile  of the command line; empty: none. @param workers  the same; 0: none named.
/// @throws ConfigError, EnvironmentError
[[nodiscard]] JobHosts choose_hosts(const std::filesystem::path& hostfile, int workers,
                                    const JobSpec& spec, const Environment& environment);

/// By worker, the name of its host.
[[nodiscard]] std::vector<std::string> hosts_of(const JobHosts& where);

}  // namespace gangway::launch
