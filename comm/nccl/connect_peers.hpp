// SPDX-License-Identifier: MIT
// Connects a session's peers in advance. NCCL connects in the first group that has messages between
// two workers, and that launch returns only when both have launched it. In a step, a lane would
// wait there for a peer that waits for the lane's own messages. Launching thread, while idle.
#pragma once

#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

/// Connects every two workers of `session`, both ways. All of them call it. @throws CommError
void connect_all(NcclSession& session);
/// Connects worker 0 to worker 1 of a session of two. Both call it. @throws CommError
void connect_one_way(NcclSession& session);

}  // namespace gangway::comm
