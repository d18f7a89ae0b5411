// SPDX-License-Identifier: MIT
#include "worker/plan_hash.hpp"

#include <algorithm>

#include <xxhash.h>

namespace gangway::worker {

std::uint64_t plan_hash(const ExchangePlan& plan, const Job& job) {
  std::vector<std::uint64_t> words{
      static_cast<std::uint64_t>(job.training.microbatches),
      static_cast<std::uint64_t>(job.numerics.memory_format),
      static_cast<std::uint64_t>(plan.layout.check_steps),
      plan.layout.audit ? 1U : 0U,
      static_cast<std::uint64_t>(job.numerics.order),
      static_cast<std::uint64_t>(job.numerics.kernels),
      XXH3_64bits(plan.device.data(), plan.device.size()),
  };
  for (const comm::BucketPlan* network : plan.networks) {
    words.push_back(network->hash());
  }
  for (const NetworkSpec& network : job.networks) {
    words.push_back(static_cast<std::uint64_t>(network.wire));
  }
  const auto add = [&words](int number) { words.push_back(static_cast<std::uint64_t>(number)); };
  for (const NetworkGroup& group : plan.layout) {
    add(group.num_chunks());
    for (const BlockRange& chunk : group.chunks) {
      add(chunk.begin);
      add(chunk.end);
    }
    for (std::size_t place = 0; place < group.workers.size(); ++place) {
      add(group.workers[place]);
      add(group.ranges[place].begin);
      add(group.ranges[place].end);
    }
  }
  std::ranges::for_each(plan.hosts, add);
  std::ranges::for_each(plan.machines, add);
  return XXH3_64bits(words.data(), words.size() * sizeof(std::uint64_t));
}

}  // namespace gangway::worker
