// SPDX-License-Identifier: MIT
// Makes the coordinator link over a ControlChannel. Called by the worker's main;
// worker/link/coordinator_link.hpp names the threads.
#pragma once

#include <memory>

#include "worker/link/control_channel.hpp"
#include "worker/link/coordinator_link.hpp"

namespace gangway::worker {

/// @param channel must outlive the link.
[[nodiscard]] std::unique_ptr<CoordinatorLink> make_coordinator_link(ControlChannel& channel);

}  // namespace gangway::worker
