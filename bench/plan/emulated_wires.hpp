// SPDX-License-Identifier: MIT
// Computes how long messages of an emulated training take: the messages of a node leave one after
// another, at the bandwidth of its link. Any thread.
#pragma once

#include <chrono>
#include <vector>

#include "base/guarded.hpp"
#include "bench/plan/emulated_layout.hpp"
#include "comm/transport/loopback_transport.hpp"

namespace gangway::bench {

class EmulatedWires {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param layout  outlives this
  explicit EmulatedWires(const EmulatedLayout& layout)
      : layout_(layout), free_(layout.input().cluster.nodes.size()) {}

  /// Returns the delay of a message with sums or weights. Tensor messages carry their own arrival.
  [[nodiscard]] comm::LoopbackHub::MessageFault fate(int from, int to, comm::MessageTag tag);
  /// Returns the arrival time of `bytes` that are ready at `moment`.
  [[nodiscard]] Clock::time_point arrival(int from, int to, double bytes, Clock::time_point moment);

 private:
  const EmulatedLayout& layout_;
  Mutex mutex_;
  std::vector<Clock::time_point> free_ GANGWAY_GUARDED_BY(mutex_);  // by node
};

}  // namespace gangway::bench
