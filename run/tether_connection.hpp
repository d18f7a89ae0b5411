// SPDX-License-Identifier: MIT
// How a rank gets its tether (run/tether_protocol.hpp). Called by `gangway train`, main thread.
#pragma once

#include <chrono>

#include "base/file_descriptor.hpp"
#include "run/tether_protocol.hpp"

namespace gangway {

/// Tries all addresses at once; the first that welcomes the rank is the supervisor. The socket does
/// not block, and outlives an exec.
/// @throws EnvironmentError when none does within `limit`, at once when all refuse: then the
/// supervisor is gone.
[[nodiscard]] FileDescriptor connect_tether(const TetherAddress& address,
                                            const TetherGreeting& greeting,
                                            std::chrono::milliseconds limit);

}  // namespace gangway
