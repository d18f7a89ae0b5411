// SPDX-License-Identifier: MIT
// Where this process was put: what mpirun, srun and the kernel say of hosts and their networks.
// Called once, at the coordinator's start.
#pragma once

#include <string>

namespace gangway::coordinator {

/// Empty where it is not set.
[[nodiscard]] std::string environment(const char* name);
/// Those over which Open MPI was told to talk: mpirun passes its --mca on as variables.
[[nodiscard]] std::string networks_of_the_hosts();
/// "10.0.0.1 (eth0), 10.1.0.1 (ib0)" of addresses of this host.
[[nodiscard]] std::string with_interfaces(const std::string& addresses);
[[nodiscard]] bool all_ranks_are_here();

}  // namespace gangway::coordinator
