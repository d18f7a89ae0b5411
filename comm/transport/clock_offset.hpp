// SPDX-License-Identifier: MIT
// How far the clocks of two hosts are apart, so that their traces can be laid over one another.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct ClockOffset {
  std::int64_t nanoseconds = 0;  ///< own steady clock + this = worker 0's
  std::int64_t error = 0;        ///< at most wrong by this
};

/// Called by all workers at once, on the lane's thread. As NTP does it (RFC 5905): a few round
/// trips to worker 0, of which the shortest counts; half of it bounds the error. Zero on worker 0's
/// own host, whose processes share the clock.
/// @param hosts  by worker: equal on one host
/// @throws CommError when worker 0 or a peer is silent for `timeout`
[[nodiscard]] ClockOffset offset_to_first_worker(Transport& transport, std::span<const int> hosts,
                                                 std::chrono::milliseconds timeout);

}  // namespace gangway::comm
