// SPDX-License-Identifier: MIT
// How long messages of an emulated training are under way: those of a host leave one after another,
// as fast as its link is. Any thread.
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

  /// Of sums and weights. What a worker sends to another as a tensor says itself when it is there.
  [[nodiscard]] comm::LoopbackHub::Fate fate(int from, int to, comm::MessageTag tag);
  /// When `bytes` are there that are ready at `moment`.
  [[nodiscard]] Clock::time_point arrival(int from, int to, double bytes, Clock::time_point moment);

 private:
  const EmulatedLayout& layout_;
  Mutex mutex_;
  std::vector<Clock::time_point> free_ GANGWAY_GUARDED_BY(mutex_);  // by node
};

}  // namespace gangway::bench
