// SPDX-License-Identifier: MIT
#include "comm/pending.hpp"

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway::comm {

bool poll_all(Transport& transport, std::vector<PendingRequest>& pending) {
  std::erase_if(pending, [&](const PendingRequest& request) { return transport.done(request.id); });
  return pending.empty();
}

void wait_all(Transport& transport, std::vector<PendingRequest>& pending, const Deadline& deadline,
              std::string_view what) {
  while (!poll_all(transport, pending)) {
    if (deadline.expired()) {
      throw CommError(fmt::format(
          "worker {} waited {:.0f} s for worker {} ({}); is it alive, and is the network up? "
          "The limit is layout.timeout_seconds",
          transport.worker(), deadline.allowed_seconds(), pending.front().peer, what));
    }
    transport.idle();
  }
}

}  // namespace gangway::comm
