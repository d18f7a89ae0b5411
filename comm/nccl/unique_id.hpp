// SPDX-License-Identifier: MIT
// How the workers of an epoch find each other for NCCL: worker 0 makes the unique id, the messages
// of the job's other transport carry it. Lane thread.
#pragma once

#include <chrono>

#include <nccl.h>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Every worker of the transport's epoch calls it; all return the same id.
/// @throws CommError naming the silent worker; EnvironmentError where NCCL finds no network.
[[nodiscard]] ncclUniqueId agree_on_unique_id(Transport& transport,
                                              std::chrono::milliseconds timeout);

}  // namespace gangway::comm
