// SPDX-License-Identifier: MIT
#include "launch/plan/memory.hpp"

namespace gangway::launch {

std::int64_t arena_bytes(const NetworkCost& network, const ArenaShare& share) {
  const auto arena = network.arena_elements * static_cast<std::int64_t>(sizeof(float));
  if (network.is_frozen) {
    return arena;
  }
  const std::int64_t owned = network.moments + (network.is_averaged ? 1 : 0);
  const std::int64_t others = share.partials_of_host - share.sums.partials;
  const std::int64_t whole = 1 + share.sums.buffers + (share.agrees ? 1 : 0);
  return arena * whole + arena * (owned + others) / share.workers;
}

WorkerMemory worker_memory(const Profile& profile, const ArenaShare& share) {
  WorkerMemory memory{.process_bytes = profile.memory.process_bytes,
                      .working_bytes = profile.memory.working_bytes,
                      .other_bytes = profile.memory.other_bytes};
  for (const NetworkCost& network : profile.networks) {
    memory.arenas_bytes += arena_bytes(network, share);
  }
  return memory;
}

}  // namespace gangway::launch
