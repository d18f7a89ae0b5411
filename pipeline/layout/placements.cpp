// SPDX-License-Identifier: MIT
#include "pipeline/layout/placements.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/errors.hpp"
#include "job/stage_cuts.hpp"

namespace gangway::pipeline {
namespace {

/// A network on `workers`, by chunk, cut as evenly as its blocks allow.
NetworkLayout evenly_cut(const std::vector<int>& workers, int num_microbatches, int num_blocks) {
  return {.chunks = balanced_chunks(std::vector<double>(static_cast<std::size_t>(num_blocks), 1.0),
                                    static_cast<int>(workers.size())),
          .replicas = {{.microbatches = {0, num_microbatches}, .workers = workers}}};
}

std::vector<int> consecutive(int first, int count) {
  std::vector<int> workers(static_cast<std::size_t>(count));
  std::iota(workers.begin(), workers.end(), first);
  return workers;
}

/// The workers of the chunks of the job's network number `index`.
std::vector<int> workers_of(Placement placement, int num_workers, std::size_t index) {
  const std::vector<int> down = consecutive(0, num_workers);
  const std::vector<int> up(down.rbegin(), down.rend());
  switch (placement) {
    case Placement::kLoop:
      return down;
    case Placement::kV:
      return index == 0 ? down : up;
    case Placement::kTwoChunks: {
      std::vector<int> both = down;
      both.insert(both.end(), up.begin(), up.end());
      return both;
    }
  }
  return {};
}

}  // namespace

Layout placed(Placement placement, int num_workers, int num_microbatches,
              const PerNetwork<int>& blocks) {
  Layout layout{.num_workers = num_workers, .num_microbatches = num_microbatches};
  for (const int num_blocks : blocks) {
    layout.networks.add(evenly_cut(workers_of(placement, num_workers, layout.networks.size()),
                                   num_microbatches, num_blocks));
  }
  return layout;
}

Layout placed_apart(const PerNetwork<int>& counts, int num_microbatches,
                    const PerNetwork<int>& blocks) {
  Layout layout{.num_workers = 0, .num_microbatches = num_microbatches};
  for (const NetworkId network : counts.ids()) {
    layout.networks.add(evenly_cut(consecutive(layout.num_workers, counts[network]),
                                   num_microbatches, blocks[network]));
    layout.num_workers += counts[network];
  }
  return layout;
}

Layout groups_apart(const PerNetwork<int>& groups, int num_microbatches,
                    const PerNetwork<int>& blocks) {
  Layout layout{.num_workers = 0, .num_microbatches = num_microbatches};
  for (const NetworkId network : groups.ids()) {
    NetworkLayout one{.chunks = {{.first_block = 0, .end_block = blocks[network]}}};
    for (const MicrobatchRange range : microbatch_ranges(num_microbatches, groups[network])) {
      one.replicas.push_back({.microbatches = range, .workers = {layout.num_workers++}});
    }
    layout.networks.add(one);
  }
  return layout;
}

Layout replicated(const Layout& one, int num_replicas, int num_microbatches) {
  Layout layout{.num_workers = one.num_workers * num_replicas,
                .num_microbatches = num_microbatches};
  const std::vector<MicrobatchRange> ranges = microbatch_ranges(num_microbatches, num_replicas);
  for (const NetworkLayout& network : one.networks) {
    NetworkLayout copies{.chunks = network.chunks};
    for (int index = 0; index < num_replicas; ++index) {
      Replica replica = network.replicas.front();
      replica.microbatches = ranges[static_cast<std::size_t>(index)];
      for (int& worker : replica.workers) {
        worker += index * one.num_workers;
      }
      copies.replicas.push_back(std::move(replica));
    }
    layout.networks.add(std::move(copies));
  }
  return layout;
}

std::vector<Chunk> balanced_chunks(const std::vector<double>& block_costs, int num_chunks) {
  const auto num_blocks = static_cast<int>(block_costs.size());
  if (num_chunks < 1 || num_chunks > num_blocks) {
    throw ConfigError("a network of " + std::to_string(num_blocks) + " blocks cannot be cut into " +
                      std::to_string(num_chunks) + " chunks");
  }
  std::vector<Chunk> chunks;
  int begin = 0;
  for (const int end : balanced_ends(block_costs, num_chunks)) {
    chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

}  // namespace gangway::pipeline
