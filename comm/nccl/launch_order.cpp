// SPDX-License-Identifier: MIT
#include "comm/nccl/launch_order.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::comm {

void LaunchOrder::open() {
  if (!all_launched()) {
    throw InvariantError(
        fmt::format("a phase begins while {} of {} buckets of the one before are launched; "
                    "please report this",
                    num_launched(), ready_.size()));
  }
  for (std::atomic<bool>& ready : ready_) {
    ready.store(false, std::memory_order_relaxed);
  }
  launched_.store(0, std::memory_order_release);
}

std::optional<std::size_t> LaunchOrder::next() const {
  const std::size_t bucket = num_launched();
  if (bucket < ready_.size() && ready_[bucket].load(std::memory_order_acquire)) {
    return bucket;
  }
  return std::nullopt;
}

}  // namespace gangway::comm
