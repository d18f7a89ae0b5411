// SPDX-License-Identifier: MIT
// How a rank gets such a connection: a lifeline, or a tether. Its main thread.
#pragma once

#include <chrono>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "run/liveness/greeting.hpp"

namespace gangway {

/// Tries all addresses at once; the first that welcomes the rank is meant. The socket does not
/// block, and outlives an exec.
/// @param server  for messages: "'gangway run'"
/// @throws EnvironmentError where none does within `limit`, at once where all refuse: then the
/// process that listened is gone
[[nodiscard]] FileDescriptor connect_and_greet(const GreetingAddress& address,
                                               const Greeting& greeting,
                                               std::chrono::milliseconds limit,
                                               std::string_view server);

}  // namespace gangway
