// SPDX-License-Identifier: MIT
#include "launch/plan/stages/list_simulation.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"

namespace gangway::launch {

using pipeline::Instruction;
using pipeline::Operation;

ListSimulation::ListSimulation(Setup setup)
    : setup_(std::move(setup)), workers_(setup_.workers.size()) {
  for (const auto& parts : setup_.parts) {
    for (const auto& [network, part] : parts) {
      ++members_[part.group];
    }
  }
}

void ListSimulation::run(const Lists& lists) {
  for (Worker& worker : workers_) {
    worker.next = 0;
  }
  std::vector<bool> waits(workers_.size());
  while (true) {
    // Who is behind comes first, so that links are taken in the order of time.
    int first = -1;
    bool is_over = true;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].next == lists[i].size()) {
        continue;
      }
      is_over = false;
      if (!waits[i] &&
          (first < 0 || workers_[i].now < workers_[static_cast<std::size_t>(first)].now)) {
        first = static_cast<int>(i);
      }
    }
    if (is_over) {
      return;
    }
    if (first < 0) {
      throw InvariantError("simulated workers wait for one another; please report this");
    }
    Worker& worker = workers_[static_cast<std::size_t>(first)];
    const auto& list = lists[static_cast<std::size_t>(first)];
    if (perform(first, list[worker.next])) {
      ++worker.next;
      waits.assign(waits.size(), false);
    } else {
      waits[static_cast<std::size_t>(first)] = true;
    }
  }
}

bool ListSimulation::perform(int index, const Instruction& at) {
  const auto& parts = setup_.parts[static_cast<std::size_t>(index)];
  const auto part = parts.find(at.network);
  const ExchangePart* own = part == parts.end() ? nullptr : &part->second;
  switch (at.operation) {
    case Operation::kSend:
    case Operation::kSendGradient:
      send(index, at);
      return true;
    case Operation::kReceive:
    case Operation::kReceiveGradient:
      return receive(index, at);
    case Operation::kAwait:
      return await(index, at.network);
    case Operation::kReduce:
      reduce(index, at);
      return true;
    case Operation::kArm:
      workers_[static_cast<std::size_t>(index)].armed = at.network;
      return true;
    default:
      break;
  }
  if (at.is_work()) {
    compute(index, node_of(at).again_seconds_of(at));
  }
  const double seconds = seconds_of(own, at);
  std::optional<NetworkId>& armed = workers_[static_cast<std::size_t>(index)].armed;
  if (at.goes_back() && armed == at.network && own != nullptr) {
    armed.reset();
    // Its buckets become complete while it goes on.
    const ListWorker& of = setup_.workers[static_cast<std::size_t>(index)];
    Side& side = begun_side(index, at.network);
    const double now = workers_[static_cast<std::size_t>(index)].now;
    for (const BucketLoad& bucket : own->buckets) {
      side.ready.push_back(now + seconds * bucket.ready_share * of.slowdown / of.speed);
    }
  }
  compute(index, seconds);
  return true;
}

const NodeCost& ListSimulation::node_of(const Instruction& at) const {
  return setup_.costs[static_cast<std::size_t>(at.phase)][static_cast<std::size_t>(at.pass)]
                     [static_cast<std::size_t>(at.node)];
}

double ListSimulation::seconds_of(const ExchangePart* part, const Instruction& at) const {
  if (at.operation == Operation::kOpenLeaf || at.operation == Operation::kCloseLeaf) {
    return part == nullptr                        ? 0.0
           : at.operation == Operation::kOpenLeaf ? part->open_seconds
                                                  : part->close_seconds;
  }
  return node_of(at).seconds_of(at);
}

void ListSimulation::compute(int index, double seconds) {
  const ListWorker& of = setup_.workers[static_cast<std::size_t>(index)];
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const double alone = seconds / of.speed;
  worker.now += alone * of.slowdown;
  worker.parts.compute += alone;
  worker.parts.beside += alone * (of.slowdown - 1.0);
}

void ListSimulation::send(int index, const Instruction& at) {
  const NodeCost& node = node_of(at);
  const MessageLink& link =
      setup_.links[static_cast<std::size_t>(index)][static_cast<std::size_t>(at.peer)];
  const double seconds = static_cast<double>(node.output_bytes) * link.seconds_per_byte;
  double begin = workers_[static_cast<std::size_t>(index)].now;
  if (link.is_shared) {
    begin = std::max(begin, link_of(index));
    // Rows that are not simulated have found their place behind one another.
    link_of(index) = begin + seconds * link.sharing;
  }
  auto& [arrivals, wire] = messages_[{index, at.peer, at.operation == Operation::kSendGradient,
                                      at.phase, at.repeat, at.pass, at.microbatch, at.node}];
  arrivals.push_back(begin + seconds + link.latency_seconds);
  wire = seconds + link.latency_seconds;
}

bool ListSimulation::receive(int index, const Instruction& at) {
  const auto found = messages_.find({at.peer, index, at.operation == Operation::kReceiveGradient,
                                     at.phase, at.repeat, at.pass, at.microbatch, at.node});
  if (found == messages_.end() || found->second.first.empty()) {
    return false;
  }
  auto& [arrivals, on_the_wire] = found->second;
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const double wait = std::max(0.0, arrivals.front() - worker.now);
  const double wire = std::min(wait, on_the_wire);
  worker.now += wait;
  worker.parts.wire += wire;
  worker.parts.bubble += wait - wire;
  arrivals.erase(arrivals.begin());
  return true;
}

ListSimulation::Exchange& ListSimulation::exchange_of(int index, NetworkId network,
                                                      std::size_t number) {
  auto& all = exchanges_[setup_.parts[static_cast<std::size_t>(index)].at(network).group];
  all.resize(std::max(all.size(), number + 1));
  return all[number];
}

ListSimulation::Side& ListSimulation::begun_side(int index, NetworkId network) {
  const std::size_t number = workers_[static_cast<std::size_t>(index)].begun[network];
  return exchange_of(index, network, number).sides[index];
}

void ListSimulation::reduce(int index, const Instruction& at) {
  const ExchangePart& part = setup_.parts[static_cast<std::size_t>(index)].at(at.network);
  compute(index, part.merge_seconds);
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  Side& side = begun_side(index, at.network);
  side.ready.resize(part.buckets.size(), worker.now);
  Exchange& exchange = exchange_of(index, at.network, worker.begun[at.network]++);
  exchange.last_ready = std::max(exchange.last_ready, std::ranges::max(side.ready));
  if (++exchange.whole == members_.at(part.group)) {
    carry_out(exchange, at.network);
  }
}

double ListSimulation::send_bytes(int index, double from, double seconds, double latency,
                                  Side& side) {
  if (seconds <= 0.0) {
    return from;
  }
  const double begin = std::max(from, link_of(index));
  link_of(index) = begin + seconds;
  side.wire_seconds += seconds + latency;
  return begin + seconds + latency;
}

void ListSimulation::carry_out(Exchange& exchange, NetworkId network) {
  std::vector<double> arrived;  // by bucket, everywhere
  for (auto& [index, side] : exchange.sides) {
    const ExchangePart& part = setup_.parts[static_cast<std::size_t>(index)].at(network);
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    arrived.resize(std::max(arrived.size(), side.ready.size()), 0.0);
    for (std::size_t bucket = 0; bucket < side.ready.size(); ++bucket) {
      const double share = part.buckets[bucket].size_share;
      worker.lane_free = std::max(side.ready[bucket], worker.lane_free) + share * part.fold_seconds;
      side.lane_seconds += share * part.fold_seconds;
      arrived[bucket] =
          std::max(arrived[bucket], send_bytes(index, worker.lane_free, share * part.there_seconds,
                                               part.latency_seconds, side));
    }
  }
  for (auto& [index, side] : exchange.sides) {
    const ExchangePart& part = setup_.parts[static_cast<std::size_t>(index)].at(network);
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    for (std::size_t bucket = 0; bucket < side.ready.size(); ++bucket) {
      const double share = part.buckets[bucket].size_share;
      worker.lane_free = std::max(arrived[bucket], worker.lane_free) + share * part.sum_seconds;
      side.lane_seconds += share * part.sum_seconds;
      exchange.done =
          std::max(exchange.done, send_bytes(index, worker.lane_free, share * part.back_seconds,
                                             part.latency_seconds, side));
    }
  }
  exchange.done += setup_.wake_seconds;
}

bool ListSimulation::await(int index, NetworkId network) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  std::size_t& awaited = worker.awaited[network];
  if (awaited == worker.begun[network]) {
    return true;  // nothing is under way
  }
  const Exchange& exchange = exchange_of(index, network, awaited);
  if (exchange.done < 0.0) {
    return false;
  }
  ++awaited;
  const Side& side = exchange.sides.at(index);
  wait_for({.first_ready = std::ranges::min(side.ready),
            .last_ready = std::ranges::max(side.ready),
            .last_of_all = exchange.last_ready,
            .done = exchange.done,
            .lane_seconds = side.lane_seconds,
            .wire_seconds = side.wire_seconds,
            .lane_steal = setup_.workers[static_cast<std::size_t>(index)].lane_steal},
           worker.now, worker.parts);
  return true;
}

StepSimulation::Stretch ListSimulation::take() {
  const auto last = std::ranges::max_element(workers_, {}, &Worker::now);
  const double seconds = last->now - std::exchange(taken_at_, last->now);
  StepSimulation::Stretch stretch{.seconds = seconds, .parts = last->parts};
  // Who comes last may be ahead or behind of where it was: what is left is a wait for others.
  stretch.parts.bubble += seconds - stretch.parts.total();
  for (Worker& worker : workers_) {
    worker.parts = {};
  }
  return stretch;
}

}  // namespace gangway::launch
