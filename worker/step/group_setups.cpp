// SPDX-License-Identifier: MIT
#include "worker/step/group_setups.hpp"

#include <utility>

namespace gangway::worker {
namespace {

/// Returns the group's entries of `by_worker`; empty if that is empty.
std::vector<int> of_group(const std::vector<int>& by_worker, const NetworkGroup& group) {
  std::vector<int> found;
  for (const int worker : group.workers) {
    if (!by_worker.empty()) {
      found.push_back(by_worker[static_cast<std::size_t>(worker)]);
    }
  }
  return found;
}

}  // namespace

GroupSetups::Group::Group(const ExchangeSetup& world, const NetworkGroup& network, ChunkIndex chunk)
    : Group(world, network.group_of(chunk)) {
  if (network.is_cut()) {
    setup.whole = {.transport = &world.transport, .workers = network.workers};
  }
}

GroupSetups::Group::Group(const ExchangeSetup& world, const NetworkGroup& group)
    : transport(world.transport, group.workers),
      host(world.host.among(group.workers)),
      setup{.transport = transport,
            .lane = world.lane,
            .host = host,
            .ranges = group.ranges,
            .hosts = of_group(world.hosts, group),
            .machines = of_group(world.machines, group),
            .num_microbatches = world.num_microbatches,
            .timeout = world.timeout,
            .on_stall = world.on_stall,
            .trace = world.trace,
            .workers = group.workers} {}

GroupSetups::GroupSetups(ExchangeSetup world, const Layout& groups) : world_(std::move(world)) {
  if (!groups.is_apart()) {
    return;
  }
  const auto num_workers = static_cast<std::size_t>(world_.transport.num_workers());
  for (const NetworkGroup& group : groups) {
    const ExchangeSetup* setup = nullptr;
    if (const auto chunk = group.chunk_of(world_.transport.worker())) {
      groups_.push_back(std::make_unique<Group>(world_, group, *chunk));
      setup = &groups_.back()->setup;
    }
    world_.by_network.push_back(!group.is_cut() && group.workers.size() == num_workers ? &world_
                                                                                       : setup);
  }
}

}  // namespace gangway::worker
