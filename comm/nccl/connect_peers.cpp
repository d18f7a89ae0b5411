// SPDX-License-Identifier: MIT
#include "comm/nccl/connect_peers.hpp"

#include <functional>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/check_nccl.hpp"
#include "comm/nccl/nccl_memory.hpp"

namespace gangway::comm {
namespace {

constexpr const char* kWhat = "connecting with the other workers over NCCL";

/// Sends a number to each worker for which `sends_to`, and receives one for which `hears`.
void exchange_numbers(NcclSession& session, const std::function<bool(int)>& sends_to,
                      const std::function<bool(int)>& hears) {
  const auto workers = static_cast<std::size_t>(session.num_workers());
  const NcclMemory memory = allocate_nccl_memory(2 * workers * sizeof(float));
  auto* const numbers = static_cast<float*>(memory.get());
  session.group(kWhat, [&](ncclComm_t communicator) {
    for (int peer = 0; peer < session.num_workers(); ++peer) {
      if (hears(peer)) {
        check(ncclRecv(numbers + workers + peer, 1, ncclFloat32, peer, communicator,
                       session.stream()),
              kWhat);
      }
      if (sends_to(peer)) {
        check(ncclSend(numbers + peer, 1, ncclFloat32, peer, communicator, session.stream()),
              kWhat);
      }
    }
  });
  session.watch(session.stream(), kWhat);
  const bool is_drained = session.drain();  // before `memory` is freed
  session.throw_if_failed();
  if (!is_drained) {
    throw CommError(kWhat);
  }
}

}  // namespace

void connect_all(NcclSession& session) {
  if (session.num_workers() == 1) {
    return;
  }
  const auto is_other = [own = session.worker()](int peer) { return peer != own; };
  exchange_numbers(session, is_other, is_other);
}

void connect_one_way(NcclSession& session) {
  const auto is = [](bool mine, int worker) {
    return [mine, worker](int peer) { return mine && peer == worker; };
  };
  exchange_numbers(session, is(session.worker() == 0, 1), is(session.worker() == 1, 0));
}

}  // namespace gangway::comm
