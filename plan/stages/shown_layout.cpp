// SPDX-License-Identifier: MIT
#include "plan/stages/shown_layout.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/memory.hpp"

namespace gangway::plan {
namespace {

StagedJob shown_job(const PlanInput& input, Candidate candidate, int microbatches) {
  JobSpec job = input.job;
  job.training.microbatches = microbatches;
  job.training.batch = static_cast<int>(microbatches * input.job.images_per_microbatch());
  if (ShownLayout::is_row(candidate)) {
    candidate.workers = candidate.choice.stages;
  }
  return staged_job(job, input.costs.phases(), candidate);
}

}  // namespace

bool ShownLayout::is_row(const Candidate& candidate) {
  return candidate.has_stages() &&
         std::ranges::all_of(candidate.choice.networks,
                             [](const NetworkPlacement& one) { return !one.cuts->empty(); });
}

int ShownLayout::microbatches_of(const Candidate& candidate, int microbatches) {
  const int copies = is_row(candidate) ? candidate.rows() : 1;
  return (microbatches + copies - 1) / copies;
}

ShownLayout::ShownLayout(const PlanInput& input, const Candidate& candidate, int microbatches)
    : input_(input),
      is_row_(is_row(candidate)),
      copies_(is_row_ ? candidate.rows() : 1),
      staged_(shown_job(input, candidate, microbatches)),
      places_(places_of(candidate, input.cluster, input.job.training.microbatches)),
      workers_on_(workers_by_node(places_)) {
  for (const NetworkId network : staged_.layout.ids()) {
    holders_.add({});
    for (ChunkIndex chunk; chunk.value() < staged_.layout[network].num_chunks(); ++chunk) {
      add_holders(network, chunk);
    }
  }
}

void ShownLayout::add_holders(NetworkId network, ChunkIndex chunk) {
  const NetworkGroup& all = staged_.layout[network];
  const std::vector<int> shown = all.group_of(chunk).workers;
  const auto count = static_cast<int>(is_row_ ? static_cast<std::size_t>(copies_) : shown.size());
  const int microbatches =
      is_row_ ? input_.job.training.microbatches : staged_.job.training.microbatches;
  std::vector<WorkerPlace> members;
  for (int i = 0; i < count; ++i) {
    const int worker =
        is_row_ ? real_worker(shown.front()) + i : shown[static_cast<std::size_t>(i)];
    members.push_back(places_[static_cast<std::size_t>(worker)]);
    members.back().range = microbatch_range(microbatches, count, i);
  }
  const BlockCosts& costs = input_.costs.blocks();
  const BlockRange blocks =
      all.is_cut() ? all.chunks[chunk.place()] : BlockRange{0, costs.num_blocks(network)};
  holders_[network].push_back({.blocks = blocks,
                               .share = all.is_cut() ? costs.share_of(network, blocks) : 1.0,
                               .group = {input_.cluster, std::move(members), microbatches}});
}

const WorkerPlace& ShownLayout::place(int worker) const {
  return places_[static_cast<std::size_t>(real_worker(worker))];
}

const ShownLayout::Holders* ShownLayout::holders_of(NetworkId network, int worker) const {
  const std::optional<ChunkIndex> chunk = staged_.layout[network].chunk_of(worker);
  return chunk ? &holders_[network][chunk->place()] : nullptr;
}

ExchangeMember ShownLayout::member_of(const Holders& holders, int worker) const {
  const WorkerPlace& own = place(worker);
  const auto found = std::ranges::find_if(holders.group.places(), [&](const WorkerPlace& one) {
    return one.node == own.node && one.device == own.device;
  });
  return holders.group.member(static_cast<std::size_t>(found - holders.group.places().begin()));
}

SimulatedDevice ShownLayout::device_of(int worker) const {
  const int node = place(worker).node;
  SimulatedDevice device = device_at(input_, place(worker), workers_on_.at(node));
  for (int copy = 1; copy < copies_; ++copy) {  // each row waits for the slowest
    device.speed =
        std::min(device.speed, places_[static_cast<std::size_t>(real_worker(worker) + copy)].speed);
  }
  return device;
}

ExchangePart ShownLayout::part_of(NetworkId network, int worker) const {
  const NetworkGroup& group = staged_.layout[network];
  const Holders& holders = *holders_of(network, worker);
  const BlockCosts& costs = input_.costs.blocks();
  const std::size_t buckets =
      input_.profile.network(input_.job.networks[network].name).buckets.size();
  const ExchangeMember member = member_of(holders, worker);
  ExchangePart part = exchange_part(
      input_,
      {.network = network,
       .share = holders.share,
       .buckets = group.is_cut()
                      ? costs.chunk_buckets(network, holders.blocks,
                                            buckets / static_cast<std::size_t>(group.num_chunks()))
                      : costs.buckets(network)},
      member, device_of(worker), is_row_ ? 1 : member.host_workers);
  constexpr int kChunks = 1 << 16;
  part.group = static_cast<int>(network) * kChunks + group.chunk_of(worker)->value();
  return part;
}

MessageLink ShownLayout::link_between(int from, int to) const {
  const int sender = place(from).node;
  const int receiver = place(to).node;
  if (sender == receiver) {
    return {.latency_seconds = input_.cluster.inside.latency_seconds,
            .seconds_per_byte = 1.0 / input_.cluster.inside.bytes_per_second};
  }
  const Link& link = input_.cluster.link(sender, receiver);
  // Rows that are not simulated send as much at the same time.
  double sharing = 1.0;
  if (is_row_ && link.is_shared) {
    sharing = member_of(*holders_of(NetworkId{0}, from), from).host_workers;
  }
  return {.latency_seconds = link.latency_seconds,
          .seconds_per_byte = 1.0 / link.bytes_per_second,
          .is_shared = link.is_shared,
          .sharing = sharing};
}

SimulationSetup ShownLayout::setup(BlockCosts::Table table) const {
  SimulationSetup setup{.costs = std::move(table),
                        .workers = {},
                        .links = {},
                        .wake_seconds = input_.profile.wake_seconds};
  for (int worker = 0; worker < staged_.workers; ++worker) {
    SimulatedWorker& added = setup.workers.emplace_back();
    added = {.device = device_of(worker),
             .list = static_cast<std::size_t>(worker),
             .link = place(worker).node,
             .parts = {}};
    for (const NetworkId network : staged_.layout.ids()) {
      if (staged_.layout[network].has(worker) && !input_.job.networks[network].is_frozen) {
        added.parts.emplace(network, part_of(network, worker));
      }
    }
    auto& links = setup.links.emplace_back();
    for (int to = 0; to < staged_.workers; ++to) {
      links.push_back(to == worker ? MessageLink{} : link_between(worker, to));
    }
  }
  return setup;
}

std::int64_t ShownLayout::arenas_bytes(int worker) const {
  double bytes = 0.0;
  for (const NetworkId network : staged_.layout.ids()) {
    const NetworkCost& cost = input_.profile.network(input_.job.networks[network].name);
    // Count all weights: a worker makes or reads them before it keeps its part.
    const auto weights = cost.arena_elements * static_cast<std::int64_t>(sizeof(float));
    bytes += static_cast<double>(weights);
    if (const Holders* holders = holders_of(network, worker)) {
      const ExchangeMember member = member_of(*holders, worker);
      const std::int64_t whole = arena_bytes(cost, {.sums = member.sums,
                                                    .workers = member.workers,
                                                    .partials_of_host = member.host_partials,
                                                    .agrees = input_.costs.agrees()});
      bytes += holders->share * static_cast<double>(whole - weights);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t ShownLayout::snapshots_bytes(int worker) const {
  double bytes = 0.0;
  for (const NetworkId network : staged_.layout.ids()) {
    if (const Holders* holders = holders_of(network, worker)) {
      const NetworkCost& cost = input_.profile.network(input_.job.networks[network].name);
      bytes +=
          holders->share * static_cast<double>(snapshot_bytes(
                               input_.job, cost, static_cast<int>(holders->group.places().size())));
    }
  }
  return static_cast<std::int64_t>(bytes);
}

double ShownLayout::exchanged_bytes() const {
  double bytes = 0.0;
  for (const NetworkId network : staged_.layout.ids()) {
    const NetworkSpec& spec = input_.job.networks[network];
    const auto elements = static_cast<double>(input_.profile.network(spec.name).arena_elements);
    for (const Holders& holders : holders_[network]) {
      bytes +=
          input_.costs.updates_in_step(network) *
          holders.group.sent_bytes(holders.share * elements, wire_bytes_of(input_.job, network));
    }
  }
  return bytes;
}

double ShownLayout::sent_bytes(const Lists& lists, const BlockCosts::Table& table) const {
  double bytes = 0.0;
  for (std::size_t worker = 0; worker < lists.size(); ++worker) {
    for (const pipeline::Instruction& at : lists[worker]) {
      const bool is_sent = at.operation == pipeline::Operation::kSend ||
                           at.operation == pipeline::Operation::kSendGradient;
      if (is_sent && place(static_cast<int>(worker)).node != place(at.peer).node) {
        bytes += static_cast<double>(node_of(table, at).output_bytes);
      }
    }
  }
  return bytes * copies_;
}

}  // namespace gangway::plan
