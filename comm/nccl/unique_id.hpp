// SPDX-License-Identifier: MIT
// Distributes NCCL's unique id, which worker 0 makes, to the workers of an epoch over the job's
// message transport. Lane thread.
#pragma once

#include <chrono>

#include <nccl.h>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Returns the id, equal on all workers. Every worker of the transport's epoch calls it.
/// @throws CommError naming the silent worker; EnvironmentError if NCCL finds no network.
[[nodiscard]] ncclUniqueId agree_on_unique_id(Transport& transport,
                                              std::chrono::milliseconds timeout);

}  // namespace gangway::comm
