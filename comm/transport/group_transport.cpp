// SPDX-License-Identifier: MIT
#include "comm/transport/group_transport.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {

GroupTransport::GroupTransport(Transport& inner, std::vector<int> workers)
    : inner_(inner),
      workers_(std::move(workers)),
      own_(static_cast<int>(std::ranges::find(workers_, inner.worker()) - workers_.begin())) {
  if (own_ == num_workers()) {
    throw InvariantError(fmt::format("rank {} is no member of its group; please report this",
                                     rank_of(inner.own_number())));
  }
}

}  // namespace gangway::comm
