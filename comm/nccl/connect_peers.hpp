// SPDX-License-Identifier: MIT
// Makes the connections of a session before they are needed. NCCL makes them in the first group
// that has messages between two workers, and its launch returns when both have come to it: in the
// midst of a step a lane would wait there for another one that may wait for messages of the first.
// Launching thread, while it launches nothing else.
#pragma once

#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

/// Between every two workers of `session`, both ways. All of them call it. @throws CommError
void connect_all(NcclSession& session);
/// In a session of two, from worker 0 to worker 1. Both call it. @throws CommError
void connect_one_way(NcclSession& session);

}  // namespace gangway::comm
