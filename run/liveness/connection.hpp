// SPDX-License-Identifier: MIT
// Connects a rank to a GreetingServer, for a lifeline or a tether. Called on its main thread.
#pragma once

#include <chrono>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "run/liveness/greeting.hpp"

namespace gangway {

/// Tries all addresses at once and returns the first connection that welcomes the rank. The socket
/// is non-blocking and outlives an exec.
/// @param server  for messages: "'gangway run'"
/// @throws EnvironmentError if no address welcomes the rank within `limit`; at once if all refuse,
/// because the listening process is gone
[[nodiscard]] FileDescriptor connect_and_greet(const GreetingAddress& address,
                                               const Greeting& greeting,
                                               std::chrono::milliseconds limit,
                                               std::string_view server);

}  // namespace gangway
