// SPDX-License-Identifier: MIT
#include "plan/memory.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "job/families/families.hpp"

namespace gangway::plan {

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

std::int64_t kept_bytes(const JobSpec& job, const Profile& profile, int local) {
  const std::vector<std::int64_t> shape = example_shape(job.model);
  const std::int64_t sides = job.data.has_two_sides() ? 2 : 1;
  const std::int64_t example =
      std::accumulate(shape.begin(), shape.end(), static_cast<std::int64_t>(sizeof(float)) * sides,
                      std::multiplies<>());
  const std::int64_t more = std::max(0, local - profile.step_microbatches);
  std::int64_t bytes = more * job.images_per_microbatch() * example;
  if (job.training.recipe->has_pools) {
    const std::int64_t all = std::max(0, job.training.microbatches - profile.step_microbatches);
    bytes += all * job.training.translation.pool * example;
  }
  if (job.training.reuse_fakes) {
    bytes += more * profile.memory.working_bytes / profile.step_microbatches;
  }
  return bytes;
}

std::int64_t snapshot_bytes(const JobSpec& job, const NetworkCost& network, int workers) {
  if (job.numerics.device != DeviceKind::kCpu) {
    return 0;
  }
  const std::int64_t slots = job.checkpoint.snapshot_steps == 0 ? 2 : 3;
  const std::int64_t state = 1 + network.moments + (network.is_averaged ? 1 : 0);
  const auto arena = network.arena_elements * static_cast<std::int64_t>(sizeof(float));
  return slots * arena * state / workers;
}

WorkerMemory worker_memory(const JobSpec& job, const Profile& profile, const ArenaShare& share,
                           int local) {
  WorkerMemory memory{.process_bytes = profile.memory.process_bytes + kWorkerProgramBytes,
                      .working_bytes = profile.memory.working_bytes,
                      .other_bytes = profile.memory.other_bytes + kept_bytes(job, profile, local)};
  for (const NetworkCost& network : profile.networks) {
    memory.arenas_bytes += arena_bytes(network, share);
    memory.snapshots_bytes += snapshot_bytes(job, network, share.workers);
  }
  return memory;
}

}  // namespace gangway::plan
