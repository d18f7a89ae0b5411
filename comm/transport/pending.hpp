// SPDX-License-Identifier: MIT
// A set of requests that are awaited together under one deadline. Lane thread only.
#pragma once

#include <string_view>
#include <vector>

#include "comm/transport/deadline.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// What is awaited from whom, for the message of a wait that expires.
struct PendingRequest {
  RequestId id = 0;
  int peer = 0;
};

/// Polls until every request in `pending` is done, then empties it.
/// @throws CommError naming `what` and the first silent peer when the deadline passes.
void wait_all(Transport& transport, std::vector<PendingRequest>& pending, const Deadline& deadline,
              std::string_view what);

/// Removes the requests that are done; true when none is left. Does not wait.
[[nodiscard]] bool poll_all(Transport& transport, std::vector<PendingRequest>& pending);

}  // namespace gangway::comm
