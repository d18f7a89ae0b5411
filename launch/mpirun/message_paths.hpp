// SPDX-License-Identifier: MIT
// What mpirun's messages need of this machine. Looked at by `gangway run` before it starts
// anything.
#pragma once

#include <filesystem>

#include "launch/mpirun/mpirun_command.hpp"

namespace gangway::launch {

/// mpirun listens on an interface, also on a single host.
/// @throws EnvironmentError where none is up, not even loopback (a container or a name space
/// without a network).
void require_network_interface();

/// Shared memory where `folder` has room for the segments of so many ranks, else TCP: Open MPI
/// would start all the same, with a page of complaints.
[[nodiscard]] HostMessages choose_host_messages(int ranks, const std::filesystem::path& folder);

}  // namespace gangway::launch
