// SPDX-License-Identifier: MIT
// Checks this machine's support for mpirun's messages. Called by `gangway run` before it starts
// anything.
#pragma once

#include <filesystem>

#include "launch/mpirun/mpirun_command.hpp"

namespace gangway::launch {

/// Checks that a network interface is up: mpirun listens on one, even on a single host.
/// @throws EnvironmentError if no interface is up, not even loopback (as in a container or a name
/// space without a network)
void require_network_interface();

/// Returns shared memory if `folder` has room for the segments of `ranks` ranks, else TCP. Without
/// room, Open MPI would start with a page of warnings.
[[nodiscard]] HostMessages choose_host_messages(int ranks, const std::filesystem::path& folder);

}  // namespace gangway::launch
