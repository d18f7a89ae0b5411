// SPDX-License-Identifier: MIT
#include "launch/plan/stages/shown_layout.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "comm/arena/reduction_tree.hpp"
#include "launch/plan/partial_sums.hpp"

namespace gangway::launch {
namespace {

double bytes_of_element(WireFormat wire) { return wire == WireFormat::kFp32 ? 4.0 : 2.0; }

StagedJob shown_job(const PlanInput& input, PlannedLayout layout, int microbatches) {
  JobSpec job = input.job;
  job.training.microbatches = microbatches;
  job.training.batch = static_cast<int>(microbatches * input.job.images_per_microbatch());
  if (ShownLayout::is_row(layout)) {
    layout.workers = layout.stages;
  }
  return staged_job(job, input.costs.phases(), layout);
}

/// The first of this kind: they differ by phase, but not in what they do.
double seconds_of(const Profile& profile, pipeline::Operation operation, const std::string& name) {
  const auto found = std::ranges::find_if(profile.instructions, [&](const InstructionCost& one) {
    return one.operation == operation && one.network == name;
  });
  return found == profile.instructions.end() ? 0.0 : found->time.seconds;
}

}  // namespace

bool ShownLayout::is_row(const PlannedLayout& layout) {
  return layout.shape == LayoutShape::kStages &&
         std::ranges::none_of(layout.cuts, &std::vector<int>::empty);
}

int ShownLayout::microbatches_of(const PlannedLayout& layout, int microbatches) {
  const int copies = is_row(layout) ? layout.workers / layout.stages : 1;
  return (microbatches + copies - 1) / copies;
}

ShownLayout::ShownLayout(const PlanInput& input, const BlockCosts& costs,
                         const PlannedLayout& layout, int microbatches)
    : input_(input),
      costs_(costs),
      layout_(layout),
      is_row_(is_row(layout)),
      copies_(is_row_ ? layout.workers / layout.stages : 1),
      staged_(shown_job(input, layout, microbatches)),
      places_(places_of(layout, input.cluster, input.job.training.microbatches)) {
  for (const WorkerPlace& place : places_) {
    ++workers_on_[place.node];
  }
}

const WorkerPlace& ShownLayout::place(int worker) const {
  return places_[static_cast<std::size_t>(real_worker(worker))];
}

void ShownLayout::set_nodes(const std::vector<int>& workers, Members& members, int worker) const {
  const int microbatches =
      is_row_ ? input_.job.training.microbatches : staged_.job.training.microbatches;
  const int own = place(worker).node;
  std::map<int, MicrobatchRange> ranges;  // by node
  members.on_node = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const int node = places_[static_cast<std::size_t>(workers[i])].node;
    const MicrobatchRange range =
        microbatch_range(microbatches, members.workers, static_cast<int>(i));
    const auto [found, is_new] = ranges.try_emplace(node, range);
    found->second.end = std::max(found->second.end, range.end);
    members.on_node += node == own ? 1 : 0;
  }
  members.nodes = static_cast<int>(ranges.size());
  members.shown_on_node = is_row_ ? 1 : members.on_node;
  members.all_sums = 0;
  for (const auto& [node, range] : ranges) {
    const auto sums = static_cast<int>(comm::whole_subtrees(range, microbatches).size());
    members.all_sums += sums;
    members.node_sums = node == own ? sums : members.node_sums;
  }
  if (members.nodes == 1) {
    return;
  }
  members.seconds_per_byte = 1.0 / input_.cluster.between.bytes_per_second;
  members.latency_seconds = input_.cluster.between.latency_seconds;
  for (const auto& [pair, link] : input_.cluster.exceptions) {
    if (ranges.contains(pair.first) && ranges.contains(pair.second)) {
      members.seconds_per_byte = std::max(members.seconds_per_byte, 1.0 / link.bytes_per_second);
      members.latency_seconds = std::max(members.latency_seconds, link.latency_seconds);
    }
  }
}

ShownLayout::Members ShownLayout::members_of(NetworkId network, int worker) const {
  const NetworkGroup& group = staged_.groups[network];
  const int chunk = *group.chunk_of(worker);
  std::vector<int> workers = group.group_of(chunk).workers;
  Members members;
  if (group.is_cut()) {
    members.share = costs_.share_of(network, group.chunks[static_cast<std::size_t>(chunk)]);
  }
  if (is_row_) {
    const int first = workers.front() * copies_;
    workers.resize(static_cast<std::size_t>(copies_));
    std::iota(workers.begin(), workers.end(), first);
  }
  members.workers = static_cast<int>(workers.size());
  const auto at = std::ranges::find(workers, real_worker(worker)) - workers.begin();
  members.range = microbatch_range(
      is_row_ ? input_.job.training.microbatches : staged_.job.training.microbatches,
      members.workers, static_cast<int>(at));
  set_nodes(workers, members, worker);
  return members;
}

ExchangePart ShownLayout::part_of(NetworkId network, int worker) const {
  const Members members = members_of(network, worker);
  const NetworkSpec& spec = input_.job.networks[network];
  const NetworkCost& cost = input_.profile.network(spec.name);
  const WorkerPlace& at = place(worker);
  const ClusterNode& node = input_.cluster.nodes[static_cast<std::size_t>(at.node)];
  const double slower = slowdown_of(input_.profile, node, on_node(at.node)) / at.speed;
  const double add = input_.profile.add_seconds_per_byte * slower;
  const PartialSums sums = partial_sums(members.range, is_row_ ? input_.job.training.microbatches
                                                               : staged_.job.training.microbatches);
  constexpr int kChunks = 1 << 16;
  ExchangePart part{.group = static_cast<int>(network) * kChunks +
                             *staged_.groups[network].chunk_of(worker)};
  const NetworkGroup& group = staged_.groups[network];
  part.buckets = group.is_cut()
                     ? costs_.chunk_buckets(
                           network, group.chunks[static_cast<std::size_t>(*group.chunk_of(worker))],
                           cost.buckets.size() / static_cast<std::size_t>(group.num_chunks()))
                     : costs_.buckets(network);
  const double bytes = members.share * static_cast<double>(cost.arena_elements) * sizeof(float);
  const double wire = bytes / sizeof(float) * bytes_of_element(spec.wire) / members.shown_on_node;
  const double node_share = static_cast<double>(members.on_node) / members.workers;
  const int partials = members.on_node * sums.partials;
  const double elsewhere = (1.0 - node_share) / members.on_node;
  const double update = std::max(0.0, cost.update.seconds - input_.profile.wake_seconds);
  part.open_seconds =
      members.share * seconds_of(input_.profile, pipeline::Operation::kOpenLeaf, spec.name);
  part.close_seconds =
      members.share * seconds_of(input_.profile, pipeline::Operation::kCloseLeaf, spec.name);
  part.merge_seconds = sums.early_merges * bytes * input_.profile.add_seconds_per_byte;
  part.fold_seconds =
      (sums.last_merges + elsewhere * std::max(0, partials - members.node_sums)) * bytes * add;
  const int sources = partials + members.all_sums - members.node_sums;
  part.sum_seconds =
      (bytes * (sources - 1) * add + update * members.share * slower) / members.workers;
  part.there_seconds = wire * (1.0 - node_share) * members.node_sums * members.seconds_per_byte;
  part.back_seconds = wire * node_share * (members.nodes - 1) * members.seconds_per_byte;
  part.latency_seconds = members.latency_seconds;
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
  // Rows that are not shown send as much, at the same time.
  double sharing = 1.0;
  if (is_row_ && link.is_shared) {
    sharing = members_of(NetworkId{0}, from).on_node;
  }
  return {.latency_seconds = link.latency_seconds,
          .seconds_per_byte = 1.0 / link.bytes_per_second,
          .is_shared = link.is_shared,
          .sharing = sharing};
}

ListSimulation::Setup ShownLayout::setup(BlockCosts::Table table) const {
  ListSimulation::Setup setup{.costs = std::move(table),
                              .workers = {},
                              .parts = {},
                              .links = {},
                              .wake_seconds = input_.profile.wake_seconds};
  for (int worker = 0; worker < staged_.workers; ++worker) {
    const WorkerPlace& at = place(worker);
    const ClusterNode& node = input_.cluster.nodes[static_cast<std::size_t>(at.node)];
    double speed = at.speed;
    for (int copy = 1; copy < copies_; ++copy) {  // all of them wait for the slowest
      speed = std::min(speed, places_[static_cast<std::size_t>(real_worker(worker) + copy)].speed);
    }
    setup.workers.push_back({.node = at.node,
                             .speed = speed,
                             .slowdown = slowdown_of(input_.profile, node, on_node(at.node)),
                             .lane_steal = lane_steal(node, on_node(at.node))});
    auto& parts = setup.parts.emplace_back();
    for (const NetworkId network : staged_.groups.ids()) {
      if (staged_.groups[network].has(worker) && !input_.job.networks[network].is_frozen) {
        parts.emplace(network, part_of(network, worker));
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
  for (const NetworkId network : staged_.groups.ids()) {
    const NetworkCost& cost = input_.profile.network(input_.job.networks[network].name);
    // All weights are made, and read from files, before anybody holds a part.
    const auto weights = cost.arena_elements * static_cast<std::int64_t>(sizeof(float));
    bytes += static_cast<double>(weights);
    if (staged_.groups[network].has(worker)) {
      const Members members = members_of(network, worker);
      const PartialSums sums =
          partial_sums(members.range, is_row_ ? input_.job.training.microbatches
                                              : staged_.job.training.microbatches);
      const std::int64_t whole =
          arena_bytes(cost, {.sums = sums,
                             .workers = members.workers,
                             .partials_of_host = members.on_node * sums.partials,
                             .agrees = input_.costs.agrees()});
      bytes += members.share * static_cast<double>(whole - weights);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t ShownLayout::snapshots_bytes(int worker) const {
  double bytes = 0.0;
  for (const NetworkId network : staged_.groups.ids()) {
    if (staged_.groups[network].has(worker)) {
      const Members members = members_of(network, worker);
      bytes +=
          members.share * static_cast<double>(snapshot_bytes(
                              input_.job, input_.profile.network(input_.job.networks[network].name),
                              members.workers));
    }
  }
  return static_cast<std::int64_t>(bytes);
}

double ShownLayout::exchanged_bytes() const {
  double bytes = 0.0;
  for (int worker = 0; worker < staged_.workers; ++worker) {
    for (const NetworkId network : staged_.groups.ids()) {
      const NetworkSpec& spec = input_.job.networks[network];
      if (!staged_.groups[network].has(worker) || spec.is_frozen) {
        continue;
      }
      const ExchangePart part = part_of(network, worker);
      const Members members = members_of(network, worker);
      if (members.nodes > 1) {
        bytes += (part.there_seconds + part.back_seconds) / members.seconds_per_byte *
                 input_.costs.updates_in_step(network) * (is_row_ ? members.nodes : 1);
      }
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
        bytes += static_cast<double>(table[static_cast<std::size_t>(
            at.phase)][static_cast<std::size_t>(at.pass)][static_cast<std::size_t>(at.node)]
                                         .output_bytes);
      }
    }
  }
  return bytes * copies_;
}

}  // namespace gangway::launch
