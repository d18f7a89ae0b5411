// SPDX-License-Identifier: MIT
// Measures the offset between two hosts' clocks, so that their traces can be merged. Lane thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

struct ClockOffset {
  std::int64_t nanoseconds = 0;  ///< own steady clock + this = worker 0's
  std::int64_t error = 0;        ///< largest error of `nanoseconds`
};

/// Measures as NTP does (RFC 5905): a few round trips to worker 0, of which the shortest counts;
/// half of it bounds the error. All workers call it at once, on the lane's thread. Returns zero on
/// worker 0's host, whose processes share the clock.
/// @param hosts  by worker; equal values: one host
/// @throws CommError if worker 0 or a peer is silent for `timeout`
[[nodiscard]] ClockOffset offset_to_first_worker(Transport& transport, std::span<const int> hosts,
                                                 std::chrono::milliseconds timeout);

}  // namespace gangway::comm
