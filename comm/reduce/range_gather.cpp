// SPDX-License-Identifier: MIT
#include "comm/reduce/range_gather.hpp"

#include "comm/transport/pending.hpp"

namespace gangway::comm {

void gather_ranges(Transport& transport, const GatherRequest& request) {
  std::vector<PendingRequest> pending;
  const int me = transport.worker();
  for (std::size_t bucket = 0; bucket < request.plan->num_buckets(); ++bucket) {
    const MessageTag tag{transport.epoch(), request.network, MessageKind::kGather,
                         static_cast<int>(bucket), request.part};
    for (int peer = 0; peer < transport.num_workers(); ++peer) {
      if (peer == me) {
        continue;
      }
      const ElementRange out = intersect(request.plan->slice(bucket, me),
                                         request.wanted[static_cast<std::size_t>(peer)]);
      if (!out.empty()) {
        pending.push_back(
            {transport.start_send(peer, tag, std::as_bytes(request.arena->range(out))), peer});
      }
      const ElementRange in = intersect(request.plan->slice(bucket, peer),
                                        request.wanted[static_cast<std::size_t>(me)]);
      if (!in.empty()) {
        pending.push_back(
            {transport.start_receive(peer, tag, std::as_writable_bytes(request.arena->range(in))),
             peer});
      }
    }
  }
  wait_all(transport, pending, Deadline(request.timeout), "state for a checkpoint or a picture");
}

}  // namespace gangway::comm
