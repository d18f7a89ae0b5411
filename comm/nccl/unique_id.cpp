// SPDX-License-Identifier: MIT
#include "comm/nccl/unique_id.hpp"

#include <vector>

#include "comm/nccl/check_nccl.hpp"
#include "comm/transport/pending.hpp"

namespace gangway::comm {
namespace {

/// A tag that no reduction and no gather uses: network 3, and the last bucket and part.
MessageTag unique_id_tag(std::int64_t epoch) {
  return {.epoch = epoch, .network = 3, .kind = MessageKind::kGather, .bucket = 127, .part = 63};
}

}  // namespace

ncclUniqueId agree_on_unique_id(Transport& transport, std::chrono::milliseconds timeout) {
  ncclUniqueId id{};
  const MessageTag tag = unique_id_tag(transport.epoch());
  std::vector<PendingRequest> pending;
  if (transport.worker() == 0) {
    check(ncclGetUniqueId(&id), "making NCCL's unique id");
    for (int peer = 1; peer < transport.num_workers(); ++peer) {
      pending.push_back(
          {transport.start_send(peer, tag, std::as_bytes(std::span(id.internal))), peer});
    }
  } else {
    pending.push_back(
        {transport.start_receive(0, tag, std::as_writable_bytes(std::span(id.internal))), 0});
  }
  wait_all(transport, pending, Deadline(timeout), "NCCL's unique id");
  return id;
}

}  // namespace gangway::comm
