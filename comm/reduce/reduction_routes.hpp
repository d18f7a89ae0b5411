// SPDX-License-Identifier: MIT
// Who sends what to whom in the reduction of one network, by workers and hosts. Within a host
// nothing is sent: memory is shared. Between hosts each host sends the sums of its whole subtrees
// once, whatever its number of workers: one of them, the *delegate*, adds up its host's partials
// for an owner elsewhere, sends them, and receives that owner's new weights for all of its host. A
// worker that is alone on its host is its own delegate; with one host there is none. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/arena/wire_format.hpp"

namespace gangway::comm {

struct ReductionRoutes {
  /// A sum that comes from another host for the own slices.
  struct Incoming {
    int peer = 0;  ///< the delegate that sends it
    MicrobatchRange microbatches;
    std::size_t part = 0;  ///< number among the sums of that host
  };

  std::vector<int> host_members;               ///< workers of the own host, ascending
  std::vector<MicrobatchRange> host_subtrees;  ///< whose sums the own host sends
  std::vector<int> served;  ///< owners elsewhere that this worker is delegate for
  std::vector<Incoming> incoming;
  std::vector<int> delegates;  ///< this worker's on every other host: they take its new weights
};

/// The workers of `host`, ascending.
/// @param hosts  by worker: a number that is equal for workers of one host
[[nodiscard]] std::vector<int> workers_of(int host, const std::vector<int>& hosts);

/// @param hosts   as above
/// @param ranges  by worker
[[nodiscard]] ReductionRoutes routes_of(int worker, const std::vector<int>& hosts,
                                        const std::vector<MicrobatchRange>& ranges,
                                        int num_microbatches);

/// Payload that the host of `worker` sends to other hosts in one reduction: for each owner
/// elsewhere its slices, once a subtree of the host; for each slice of its own the weights, once
/// another host.
[[nodiscard]] std::uint64_t bytes_between_hosts(const BucketPlan& plan, int worker,
                                                const std::vector<int>& hosts,
                                                const std::vector<MicrobatchRange>& ranges,
                                                int num_microbatches,
                                                WireFormat wire = WireFormat::kFp32);

}  // namespace gangway::comm
