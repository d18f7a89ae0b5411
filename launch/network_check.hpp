// SPDX-License-Identifier: MIT
// Whether mpirun can listen at all: it needs an interface that is up, also on a single host. Called
// by `gangway run` before it starts anything.
#pragma once

namespace gangway::launch {

/// @throws EnvironmentError where no interface is up, not even loopback (a container or a name
/// space without a network).
void require_network_interface();

}  // namespace gangway::launch
