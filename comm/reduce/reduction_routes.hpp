// SPDX-License-Identifier: MIT
// Computes the routes of one network's reduction between workers and hosts. Within a host data is
// shared memory, so no message is sent. Each host sends the sums of its whole subtrees once,
// for any number of workers. For each owner elsewhere one of its workers, the *delegate*, sums
// the host's partials, sends them, and receives the owner's new weights for the host. A worker
// alone on its host is its own delegate; with one host there are no delegates. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/arena/wire_format.hpp"

namespace gangway::comm {

struct ReductionRoutes {
  /// A sum from another host for this worker's slices.
  struct Incoming {
    int peer = 0;  ///< the delegate that sends it
    MicrobatchRange microbatches;
    std::size_t part = 0;  ///< index among that host's sums
  };

  std::vector<int> host_members;               ///< workers of this worker's host, ascending
  std::vector<MicrobatchRange> host_subtrees;  ///< the subtrees whose sums this host sends
  std::vector<int> served;  ///< owners on other hosts that this worker is delegate for
  std::vector<Incoming> incoming;
  std::vector<int> delegates;  ///< this worker's on every other host; receive its new weights
};

/// The hosts of workers that share none: 0, 1, 2 and so on.
[[nodiscard]] std::vector<int> each_its_own(int num_workers);

/// The workers of `host`, ascending.
/// @param hosts  by worker: a number that is equal for workers of one host
[[nodiscard]] std::vector<int> workers_of(int host, const std::vector<int>& hosts);

/// Computes the routes of `worker`. @param hosts  as above
/// @param ranges  by worker: its micro-batches
[[nodiscard]] ReductionRoutes routes_of(int worker, const std::vector<int>& hosts,
                                        const std::vector<MicrobatchRange>& ranges,
                                        int num_microbatches);

/// Payload bytes that the host of `worker` sends to other hosts in one reduction. It sends each
/// other owner's slices once per subtree of this host, and its own slices' weights once per other
/// host.
[[nodiscard]] std::uint64_t bytes_between_hosts(const BucketPlan& plan, int worker,
                                                const std::vector<int>& hosts,
                                                const std::vector<MicrobatchRange>& ranges,
                                                int num_microbatches,
                                                WireFormat wire = WireFormat::kFp32);

}  // namespace gangway::comm
