// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_wires.hpp"

#include <algorithm>

namespace gangway::bench {
namespace {

EmulatedWires::Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<EmulatedWires::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

int place_in(const NetworkGroup& group, int worker) {
  return static_cast<int>(std::ranges::find(group.workers, worker) - group.workers.begin());
}

}  // namespace

EmulatedWires::Clock::time_point EmulatedWires::arrival(int from, int to, double bytes,
                                                        Clock::time_point moment) {
  const int sender = layout_.places()[static_cast<std::size_t>(from)].node;
  const int receiver = layout_.places()[static_cast<std::size_t>(to)].node;
  const plan::Link& link = layout_.input().cluster.link(sender, receiver);
  const Clock::duration taken = duration_of(bytes / link.bytes_per_second);
  const Clock::duration latency = duration_of(link.latency_seconds);
  if (sender == receiver) {
    return moment + taken + latency;
  }
  const MutexLock lock(mutex_);
  Clock::time_point& free = free_[static_cast<std::size_t>(sender)];
  free = std::max(moment, free) + taken;
  return free + latency;
}

comm::LoopbackHub::MessageFault EmulatedWires::fate(int from, int to, comm::MessageTag tag) {
  const bool is_sum = tag.kind == comm::MessageKind::kPartial;
  if (!is_sum && tag.kind != comm::MessageKind::kWeights) {
    return {};
  }
  const EmulatedPart& part = *layout_.part_of(static_cast<NetworkId>(tag.network), from);
  const comm::ElementRange slice = part.plan.slice(static_cast<std::size_t>(tag.bucket),
                                                   place_in(part.group, is_sum ? to : from));
  const auto now = Clock::now();
  return {.delay = std::chrono::duration_cast<std::chrono::microseconds>(
              arrival(from, to, static_cast<double>(slice.size() * sizeof(float)), now) - now)};
}

}  // namespace gangway::bench
