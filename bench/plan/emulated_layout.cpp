// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_layout.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace gangway::bench {
namespace {

using plan::BlockCost;
using plan::NetworkCost;

/// Returns the profiled blocks of `network`, in order.
std::vector<BlockCost> blocks_of(const plan::PlanInput& input, NetworkId network) {
  std::vector<BlockCost> blocks;
  std::ranges::copy_if(input.profile.blocks, std::back_inserter(blocks), [&](const BlockCost& one) {
    return one.network == input.job.networks[network].name;
  });
  return blocks;
}

double backward_seconds(const BlockCost& block) {
  return block.input_gradient.seconds + block.weight_gradient.seconds;
}

}  // namespace

EmulatedLayout::EmulatedLayout(const plan::PlanInput& input,
                               const std::vector<pipeline::Phase>& phases,
                               const plan::Candidate& candidate)
    : input_(input),
      staged_(plan::staged_job(input.job, phases, candidate)),
      places_(places_of(candidate, input.cluster, input.job.training.microbatches)),
      table_(plan::BlockCosts(input.job, input.profile, phases).table(staged_)) {
  for (const NetworkId network : input.job.networks.ids()) {
    arenas_.add(arena_of(network));
  }
  for (const NetworkId network : input.job.networks.ids()) {
    parts_.add(parts_of(network));
  }
}

std::vector<int> EmulatedLayout::hosts() const {
  std::vector<int> hosts;
  for (const plan::WorkerPlace& place : places_) {
    hosts.push_back(place.host);
  }
  return hosts;
}

std::vector<plan::Lists> EmulatedLayout::lists(int steps) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(steps));
  std::iota(all.begin(), all.end(), 0);
  return lists_of_steps(staged_, all);
}

const plan::NodeCost& EmulatedLayout::cost_of(const pipeline::Instruction& at) const {
  return table_[static_cast<std::size_t>(at.phase)][static_cast<std::size_t>(at.pass)]
               [static_cast<std::size_t>(at.node)];
}

const EmulatedPart* EmulatedLayout::part_of(NetworkId network, int worker) const {
  const auto chunk = staged_.layout[network].chunk_of(worker);
  return chunk ? &parts_[network][chunk->place()] : nullptr;
}

/// Returns an arena layout with one tensor for each block.
comm::ArenaLayout EmulatedLayout::arena_of(NetworkId network) const {
  std::vector<comm::ArenaLayout::Tensor> tensors;
  for (const BlockCost& block : blocks_of(input_, network)) {
    tensors.push_back({.name = fmt::format("block-{}", block.block),
                       .elements = static_cast<std::size_t>(block.parameters),
                       .network_block = static_cast<std::size_t>(block.block)});
  }
  return {tensors, {}};
}

std::vector<double> EmulatedLayout::ready_shares(NetworkId network, BlockRange blocks,
                                                 const comm::BucketPlan& plan) const {
  const std::vector<BlockCost> costs = blocks_of(input_, network);
  const std::vector<comm::ArenaEntry>& entries = arenas_[network].parameters();
  double all = 0.0;
  for (int block = blocks.begin; block < blocks.end; ++block) {
    all += backward_seconds(costs[static_cast<std::size_t>(block)]);
  }
  std::vector<double> shares;
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    double done = 0.0;
    for (auto block = static_cast<std::size_t>(blocks.end); block-- > 0;) {
      const comm::ArenaEntry& entry = entries[block];
      const bool is_behind = entry.offset + entry.elements > plan.bucket(bucket).begin &&
                             static_cast<int>(block) >= blocks.begin;
      done += is_behind ? backward_seconds(costs[block]) : 0.0;
    }
    shares.push_back(std::min(1.0, done / all));
  }
  return shares;
}

std::vector<EmulatedPart> EmulatedLayout::parts_of(NetworkId network) const {
  const NetworkGroup& group = staged_.layout[network];
  const comm::ArenaLayout& arena = arenas_[network];
  const NetworkCost& cost = input_.profile.network(input_.job.networks[network].name);
  const auto num_blocks = static_cast<int>(arena.parameters().size());
  std::vector<EmulatedPart> parts;
  for (ChunkIndex chunk; chunk.value() < group.num_chunks(); ++chunk) {
    const BlockRange blocks =
        group.is_cut() ? group.chunks[chunk.place()] : BlockRange{0, num_blocks};
    const auto offset_of = [&](int block) {
      return block == num_blocks ? arena.size()
                                 : arena.parameters()[static_cast<std::size_t>(block)].offset;
    };
    std::vector<comm::ElementRange> ranges{{offset_of(blocks.begin), offset_of(blocks.end)}};
    NetworkGroup own = group.group_of(chunk);
    comm::BucketPlan plan(arena, ranges, static_cast<int>(own.workers.size()),
                          cost.buckets.size() / static_cast<std::size_t>(group.num_chunks()));
    std::vector<double> ready = ready_shares(network, blocks, plan);
    parts.push_back(
        {.group = std::move(own),
         .ranges = std::move(ranges),
         .plan = std::move(plan),
         .ready_shares = std::move(ready),
         .update_seconds = cost.update.seconds / static_cast<double>(cost.arena_elements)});
  }
  return parts;
}

}  // namespace gangway::bench
