// SPDX-License-Identifier: MIT
#include "plan/exchange.hpp"

#include <algorithm>
#include <cmath>

#include "comm/arena/reduction_tree.hpp"

namespace gangway::plan {
namespace {

/// Seconds of a lane to post a message and to notice its arrival.
constexpr double kMessageSeconds = 2e-6;

/// Slices are made of whole blocks (comm/arena/bucket_plan.hpp): some owners have one more.
constexpr double kBlockElements = 4096.0;

double largest_slice(double elements, int workers) {
  return std::ceil(std::ceil(elements / kBlockElements) / workers) * kBlockElements;
}

/// Returns the factor of compute time while `workers` devices of a node compute at once.
double slowdown_of(const Profile& profile, const ClusterNode& node, int workers) {
  if (node.cores == 0) {
    return 1.0;
  }
  const auto measured = static_cast<int>(profile.together.size());
  const double beside = profile.together[static_cast<std::size_t>(std::min(workers, measured) - 1)];
  return beside * std::max(1.0, static_cast<double>(workers) / node.cores);
}

/// Returns the share of a lane's work that compute loses; 0 while cores are free.
double lane_steal(const ClusterNode& node, int workers) {
  if (node.cores == 0) {
    return 0.0;
  }
  return std::clamp(static_cast<double>(2 * workers - node.cores) / workers, 0.0, 1.0);
}

/// Takes the first instruction of this kind: all phases do the same work.
double seconds_of(const Profile& profile, pipeline::Operation operation, const std::string& name) {
  const auto found = std::ranges::find_if(profile.instructions, [&](const InstructionCost& one) {
    return one.operation == operation && one.network == name;
  });
  return found == profile.instructions.end() ? 0.0 : found->time.seconds;
}

}  // namespace

WireBytes wire_bytes_of(const JobSpec& job, NetworkId network) {
  constexpr double kFloat = 4.0;
  constexpr double kHalf = 2.0;
  const double rounded = job.networks[network].wire == WireFormat::kFp32 ? kFloat : kHalf;
  // GPUs send weights whole (docs/communication.md).
  return {rounded, job.numerics.device == DeviceKind::kCuda ? kFloat : rounded};
}

std::map<int, int> workers_by_node(const std::vector<WorkerPlace>& places) {
  std::map<int, int> workers;
  for (const WorkerPlace& place : places) {
    ++workers[place.node];
  }
  return workers;
}

SimulatedDevice device_at(const PlanInput& input, const WorkerPlace& place, int beside) {
  const ClusterNode& node = input.cluster.nodes[static_cast<std::size_t>(place.node)];
  return {.speed = place.speed,
          .slowdown = slowdown_of(input.profile, node, beside),
          .lane_steal = lane_steal(node, beside),
          .launch_seconds = node.launch_seconds};
}

ExchangeGroup::ExchangeGroup(const Cluster& cluster, std::vector<WorkerPlace> members,
                             int microbatches)
    : cluster_(cluster), members_(std::move(members)) {
  int last = -1;
  for (const WorkerPlace& place : members_) {
    if (std::exchange(last, place.host) != place.host) {
      hosts_.push_back({.node = place.node, .range = {place.range.begin, place.range.begin}});
      ++hosts_on_node_[place.node];
    }
    sums_.push_back(partial_sums(place.range, microbatches));
    host_of_.push_back(hosts_.size() - 1);
    Host& host = hosts_.back();
    host.range.end = place.range.end;
    host.partials += sums_.back().partials;
    ++host.workers;
  }
  for (Host& host : hosts_) {
    host.sums = static_cast<int>(comm::whole_subtrees(host.range, microbatches).size());
    all_sums_ += host.sums;
  }
  for (const auto& [pair, link] : cluster_.exceptions) {
    exceptions_[pair.first].emplace_back(pair.second, &link);
    exceptions_[pair.second].emplace_back(pair.first, &link);
  }
}

ExchangeMember ExchangeGroup::member(std::size_t index) const {
  const Host& host = hosts_[host_of_[index]];
  ExchangeMember member{.sums = sums_[index],
                        .microbatches = members_[index].range.size(),
                        .workers = static_cast<int>(members_.size()),
                        .host_workers = host.workers,
                        .host_share = share_of(host),
                        .host_sums = host.sums,
                        .host_partials = host.partials,
                        .sources = host.partials + all_sums_ - host.sums,
                        .other_hosts = static_cast<int>(hosts_.size()) - 1};
  if (member.other_hosts > 0) {
    const double elsewhere = member.workers - host.workers;
    member.messages =
        std::max(elsewhere / host.workers * host.sums, static_cast<double>(member.other_hosts));
    set_links(host, member);
  }
  return member;
}

/// Sets how long the host's share of each byte occupies its links.
void ExchangeGroup::set_links(const Host& host, ExchangeMember& member) const {
  const auto others = static_cast<double>(member.other_hosts);
  const double sharing = hosts_on_node_.at(host.node);
  const double beside = sharing - 1;
  const double away = others - beside;
  const double inside = beside / others * (cluster_.inside.is_shared ? sharing : 1.0) /
                        cluster_.inside.bytes_per_second;
  const double lines = cluster_.between.is_shared ? 1.0 / sharing : host.workers;
  double between = away / others / lines / cluster_.between.bytes_per_second;
  member.latency_seconds = beside > 0 ? cluster_.inside.latency_seconds : 0.0;
  if (away > 0) {
    member.latency_seconds = std::max(member.latency_seconds, cluster_.between.latency_seconds);
  }
  if (const auto slow = exceptions_.find(host.node); slow != exceptions_.end()) {
    for (const auto& [other, link] : slow->second) {
      const auto there = hosts_on_node_.find(other);
      if (there != hosts_on_node_.end()) {
        between = std::max(between, there->second / others * sharing / link->bytes_per_second);
        member.latency_seconds = std::max(member.latency_seconds, link->latency_seconds);
      }
    }
  }
  member.seconds_per_byte = inside + between;
}

double ExchangeGroup::sent_bytes(double elements, const WireBytes& wire) const {
  const double others = static_cast<double>(hosts_.size()) - 1.0;
  double sent = 0.0;
  for (const Host& host : hosts_) {
    const double share = share_of(host);
    sent += elements * ((1.0 - share) * host.sums * wire.gradient + share * others * wire.weight);
  }
  return sent;
}

ExchangePart exchange_part(const PlanInput& input, const Exchanged& what,
                           const ExchangeMember& member, const SimulatedDevice& device,
                           int sharing) {
  const NetworkSpec& spec = input.job.networks[what.network];
  const NetworkCost& cost = input.profile.network(spec.name);
  const double pace = device.slowdown / device.speed;
  const double add = static_cast<double>(sizeof(float)) * input.profile.add_seconds_per_byte;
  const double update = std::max(0.0, cost.update.seconds - input.profile.wake_seconds) /
                        static_cast<double>(cost.arena_elements);
  const WireBytes wire = wire_bytes_of(input.job, what.network);
  const double messages = member.other_hosts > 0 ? member.messages * kMessageSeconds : 0.0;
  // A lane adds its own leaves and, as a delegate, the host's partials for owners elsewhere.
  const double elsewhere = (1.0 - member.host_share) / member.host_workers;
  const double folded =
      member.sums.last_merges + elsewhere * (member.host_partials - member.host_sums);
  const double merged =
      static_cast<double>(member.sums.early_merges) / std::max(1, member.microbatches);
  ExchangePart part{
      .buckets = {},
      .open_seconds =
          what.share * seconds_of(input.profile, pipeline::Operation::kOpenLeaf, spec.name),
      .close_seconds =
          what.share * (seconds_of(input.profile, pipeline::Operation::kCloseLeaf, spec.name) +
                        merged * static_cast<double>(cost.arena_elements) * add),
      .latency_seconds = member.latency_seconds};
  for (const BucketLoad& bucket : what.buckets) {
    const double slice = largest_slice(bucket.elements, member.workers);
    part.buckets.push_back(
        {.ready_share = bucket.ready_share,
         .fold = folded * bucket.elements * add * pace,
         .there = (bucket.elements * wire.gradient * member.seconds_per_byte *
                       (1.0 - member.host_share) * member.host_sums +
                   messages) /
                  sharing,
         .sum = std::max(slice * ((member.sources - 1) * add + update) * pace,
                         device.launch_seconds),  // one kernel that adds up and updates
         .back = (bucket.elements * wire.weight * member.seconds_per_byte * member.host_share *
                      member.other_hosts +
                  messages) /
                 sharing});
  }
  return part;
}

}  // namespace gangway::plan
