// SPDX-License-Identifier: MIT
#include "comm/transport/peer_error.hpp"

#include <fmt/format.h>

namespace gangway::comm {

std::string silence_text(WorkerIndex worker, double seconds, WorkerIndex peer,
                         std::string_view what) {
  return fmt::format(
      "rank {} waited {:.1f} s for rank {} ({}); is it alive, and is the network up? The limit is "
      "layout.timeout_seconds",
      rank_of(worker), seconds, rank_of(peer), what);
}

}  // namespace gangway::comm
