// SPDX-License-Identifier: MIT
// Computes a worker's sent bytes in one reduction on GPUs by a formula, for comparison with plans.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/arena/bucket_plan.hpp"
#include "comm/reduce/reduction_routes.hpp"

namespace gangway::comm {

/// Bytes of gradients and weights that a worker sends in one reduction.
struct SentBytes {
  std::uint64_t within_host = 0;
  std::uint64_t between_hosts = 0;
};

/// Computes 4 k (N - n - s) + 4 (m - 1) (n + s) within the host; w K s + 4 (H - 1) n between
/// hosts. N: elements of the network; n, s: elements of own and of served slices; k: own partials;
/// K: sums of the host; m: its workers; H: hosts; w: wire bytes per element. In fp32 the bytes
/// between hosts, summed over a host's workers, equal comm::bytes_between_hosts().
inline SentBytes sent_bytes(const BucketPlan& plan, const std::vector<MicrobatchRange>& ranges,
                            int num_microbatches, int worker, const std::vector<int>& hosts,
                            WireFormat wire = WireFormat::kFp32) {
  const ReductionRoutes routes = routes_of(worker, hosts, ranges, num_microbatches);
  std::uint64_t all = 0;
  std::uint64_t own = 0;
  std::uint64_t served = 0;
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    all += plan.bucket(bucket).size();
    own += plan.slice(bucket, worker).size();
    for (const int owner : routes.served) {
      served += plan.slice(bucket, owner).size();
    }
  }
  const std::uint64_t partials =
      whole_subtrees(ranges[static_cast<std::size_t>(worker)], num_microbatches).size();
  return {.within_host = sizeof(float) * (partials * (all - own - served) +
                                          (routes.host_members.size() - 1) * (own + served)),
          .between_hosts = wire_bytes(wire, routes.host_subtrees.size() * served) +
                           sizeof(float) * routes.delegates.size() * own};
}

}  // namespace gangway::comm
