// SPDX-License-Identifier: MIT
#include "comm/host_agreement.hpp"

#include <algorithm>

#include "comm/pending.hpp"

namespace gangway::comm {

std::vector<int> agree_on_hosts(Transport& transport, std::uint64_t identity,
                                std::chrono::milliseconds timeout) {
  const MessageTag tag{transport.epoch(), 0, MessageKind::kBarrier, 0, 0};
  const auto me = static_cast<std::size_t>(transport.worker());
  std::vector<std::uint64_t> identities(static_cast<std::size_t>(transport.num_workers()));
  identities[me] = identity;
  const std::span<std::uint64_t> all(identities);
  std::vector<PendingRequest> pending;
  for (int peer = 0; peer < transport.num_workers(); ++peer) {
    if (peer != transport.worker()) {
      pending.push_back({transport.start_send(peer, tag, std::as_bytes(all.subspan(me, 1))), peer});
      const std::span<std::uint64_t> theirs = all.subspan(static_cast<std::size_t>(peer), 1);
      pending.push_back(
          {transport.start_receive(peer, tag, std::as_writable_bytes(theirs)), peer});
    }
  }
  wait_all(transport, pending, Deadline(timeout), "which workers share a host");
  std::vector<int> hosts;
  for (const std::uint64_t one : identities) {
    hosts.push_back(static_cast<int>(std::ranges::find(identities, one) - identities.begin()));
  }
  return hosts;
}

}  // namespace gangway::comm
