// SPDX-License-Identifier: MIT
// Waits for or polls a set of requests. Lane thread only.
#pragma once

#include <string_view>
#include <vector>

#include "comm/transport/deadline.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// A request and its peer, which the message of an expired wait names.
struct PendingRequest {
  RequestId id = 0;
  int peer = 0;
};

/// Polls until every request in `pending` is done, then empties it.
/// @throws CommError naming `what` and the first silent peer if the deadline passes.
void wait_all(Transport& transport, std::vector<PendingRequest>& pending, const Deadline& deadline,
              std::string_view what);

/// Removes the requests that are done; returns true if none is left. Does not wait.
[[nodiscard]] bool poll_all(Transport& transport, std::vector<PendingRequest>& pending);

}  // namespace gangway::comm
