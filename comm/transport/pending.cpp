// SPDX-License-Identifier: MIT
#include "comm/transport/pending.hpp"

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {

bool poll_all(Transport& transport, std::vector<PendingRequest>& pending) {
  std::erase_if(pending, [&](const PendingRequest& request) { return transport.done(request.id); });
  return pending.empty();
}

void wait_all(Transport& transport, std::vector<PendingRequest>& pending, const Deadline& deadline,
              std::string_view what) {
  while (!poll_all(transport, pending)) {
    if (deadline.expired()) {
      const int silent = pending.front().peer;
      throw PeerError(transport.number_of(silent),
                      silence_text(transport.own_number(), deadline.allowed_seconds(),
                                   transport.number_of(silent), what));
    }
    transport.idle();
  }
}

}  // namespace gangway::comm
