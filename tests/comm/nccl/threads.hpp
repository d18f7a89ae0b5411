// SPDX-License-Identifier: MIT
// Workers of the NCCL path as threads of one process, on the stand-ins for CUDA and NCCL.
#pragma once

#include <chrono>
#include <functional>

#include "comm/nccl/nccl_session.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"

namespace gangway::comm {

struct SessionChoice {
  NcclSession::Calls calls = NcclSession::Calls::kNonBlocking;
  std::chrono::milliseconds timeout{600'000};  // above ctest's limit
};

/// Runs `body` on `num_workers` threads that share a session. @throws their first failure.
inline void run_workers(int num_workers, const SessionChoice& choice,
                        const std::function<void(NcclSession&)>& body) {
  LoopbackHub hub(num_workers);
  spawn_ranks(num_workers, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    NcclSession session({.id = agree_on_unique_id(transport, std::chrono::minutes(10)),
                         .worker = worker,
                         .num_workers = num_workers,
                         .calls = choice.calls,
                         .timeout = choice.timeout,
                         .meeting_timeout = std::chrono::minutes(10)});
    body(session);
  });
}

}  // namespace gangway::comm
