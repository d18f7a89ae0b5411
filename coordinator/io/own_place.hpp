// SPDX-License-Identifier: MIT
// Reads this process's placement: what mpirun, srun and the kernel report about hosts and networks.
// Called once, at the coordinator's start.
#pragma once

#include <string>

namespace gangway::coordinator {

/// Returns the environment variable; empty if not set.
[[nodiscard]] std::string environment(const char* name);
/// Returns Open MPI's networks: mpirun passes its --mca options as environment variables.
[[nodiscard]] std::string networks_of_the_hosts();
/// Adds interfaces to addresses of this host: "10.0.0.1 (eth0), 10.1.0.1 (ib0)".
[[nodiscard]] std::string with_interfaces(const std::string& addresses);
[[nodiscard]] bool all_ranks_are_here();

}  // namespace gangway::coordinator
