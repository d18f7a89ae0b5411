// SPDX-License-Identifier: MIT
#include "plan/simulation.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"

namespace gangway::plan {

using pipeline::Instruction;
using pipeline::Operation;

Simulation::Simulation(SimulationSetup setup)
    : setup_(std::move(setup)), workers_(setup_.workers.size()) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    for (const auto& [network, part] : setup_.workers[i].parts) {
      Group& group = groups_[part.group];
      workers_[i].held[network] = {.part = &part, .group = &group, .member = group.members.size()};
      group.members.push_back(i);
      group.parts.push_back(&part);
    }
  }
}

void Simulation::run(const Lists& lists) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].next = 0;
    ready_.emplace(workers_[i].now, i);
  }
  std::size_t running = workers_.size();
  while (!ready_.empty()) {
    // Run the worker that is furthest behind, so that links are taken in the order of time.
    const std::size_t index = ready_.extract(ready_.begin()).value().second;
    Worker& worker = workers_[index];
    const std::vector<Instruction>& list = lists[setup_.workers[index].list];
    while (worker.next < list.size() && !worker.waits &&
           (ready_.empty() || std::pair(worker.now, index) < *ready_.begin())) {
      worker.waits = !perform(index, list[worker.next]);
      worker.next += worker.waits ? 0 : 1;
    }
    if (worker.next == list.size()) {
      --running;
    } else if (!worker.waits) {
      ready_.emplace(worker.now, index);
    }
  }
  if (running > 0) {
    throw InvariantError("simulated workers wait for one another; please report this");
  }
}

void Simulation::wake(std::size_t index) {
  if (std::exchange(workers_[index].waits, false)) {
    ready_.emplace(workers_[index].now, index);
  }
}

bool Simulation::perform(std::size_t index, const Instruction& at) {
  const auto found = workers_[index].held.find(at.network);
  HeldNetwork* held = found == workers_[index].held.end() ? nullptr : &found->second;
  switch (at.operation) {
    case Operation::kSend:
    case Operation::kSendGradient:
      send(index, at);
      return true;
    case Operation::kReceive:
    case Operation::kReceiveGradient:
      return receive(index, at);
    case Operation::kAwait:
      return held == nullptr || await(index, *held);
    case Operation::kReduce:
      reduce(index, *held);
      return true;
    case Operation::kArm:
      held->is_armed = true;
      return true;
    default:
      work(index, at, held);
      return true;
  }
}

void Simulation::work(std::size_t index, const Instruction& at, HeldNetwork* held) {
  const SimulatedDevice& of = setup_.workers[index].device;
  const double times = at.microbatch == 1 ? setup_.workers[index].middle_microbatches : 1.0;
  if (at.operation == Operation::kOpenLeaf || at.operation == Operation::kCloseLeaf) {
    const bool opens = at.operation == Operation::kOpenLeaf;
    compute(index,
            times * of.alone(opens ? held->part->open_seconds : held->part->close_seconds, 0.0));
    return;
  }
  const NodeCost& node = node_of(setup_.costs, at);
  const double seconds = of.alone(node.seconds_of(at), node.kernels_of(at));
  if (at.goes_back() && held != nullptr && std::exchange(held->is_armed, false)) {
    // The buckets become complete while this backward runs.
    for (const BucketCost& bucket : held->part->buckets) {
      begun_exchange(*held).sides[held->member].ready.push_back(
          workers_[index].now + seconds * bucket.ready_share * of.slowdown);
    }
  }
  compute(index, times * seconds);
}

void Simulation::compute(std::size_t index, double alone) {
  const SimulatedDevice& of = setup_.workers[index].device;
  Worker& worker = workers_[index];
  worker.now += alone * of.slowdown;
  worker.parts.compute += alone;
  worker.parts.beside += alone * (of.slowdown - 1.0);
}

void Simulation::send(std::size_t index, const Instruction& at) {
  const MessageLink& link = setup_.links[index][static_cast<std::size_t>(at.peer)];
  const double seconds =
      static_cast<double>(node_of(setup_.costs, at).output_bytes) * link.seconds_per_byte;
  double begin = workers_[index].now;
  if (link.is_shared) {
    double& free = link_free_[setup_.workers[index].link];
    begin = std::max(begin, free);
    // The messages of rows that are not simulated occupy the link, too.
    free = begin + seconds * link.sharing;
  }
  auto& [arrivals, wire] = messages_[{index, at.peer, at.operation == Operation::kSendGradient,
                                      at.phase, at.repeat, at.pass, at.microbatch, at.node}];
  arrivals.push_back(begin + seconds + link.latency_seconds);
  wire = seconds + link.latency_seconds;
  wake(static_cast<std::size_t>(at.peer));
}

bool Simulation::receive(std::size_t index, const Instruction& at) {
  const auto found = messages_.find({static_cast<std::size_t>(at.peer), static_cast<int>(index),
                                     at.operation == Operation::kReceiveGradient, at.phase,
                                     at.repeat, at.pass, at.microbatch, at.node});
  if (found == messages_.end() || found->second.first.empty()) {
    return false;
  }
  auto& [arrivals, on_the_wire] = found->second;
  Worker& worker = workers_[index];
  const double wait = std::max(0.0, arrivals.front() - worker.now);
  const double wire = std::min(wait, on_the_wire);
  worker.now += wait;
  worker.parts.wire += wire;
  worker.parts.bubble += wait - wire;
  arrivals.erase(arrivals.begin());
  return true;
}

Simulation::Exchange& Simulation::begun_exchange(HeldNetwork& held) {
  std::vector<Exchange>& exchanges = held.group->exchanges;
  if (exchanges.size() == held.begun) {
    exchanges.push_back({.sides = std::vector<Side>(held.group->members.size())});
  }
  return exchanges[held.begun];
}

void Simulation::reduce(std::size_t index, HeldNetwork& held) {
  Exchange& exchange = begun_exchange(held);
  ++held.begun;
  Side& side = exchange.sides[held.member];
  side.ready.resize(held.part->buckets.size(), workers_[index].now);
  exchange.last_ready = std::max(exchange.last_ready, std::ranges::max(side.ready));
  if (++exchange.whole == exchange.sides.size()) {
    carry_out(*held.group, exchange);
  }
}

double Simulation::send_bucket(std::size_t index, double seconds, double latency, Side& side) {
  const double from = workers_[index].lane_free;
  if (seconds <= 0.0) {
    return from;
  }
  double& free = link_free_[setup_.workers[index].link];
  free = std::max(from, free) + seconds;
  side.wire_seconds += seconds + latency;
  return free + latency;
}

void Simulation::carry_out(Group& group, Exchange& exchange) {
  const std::size_t buckets = group.parts.front()->buckets.size();
  std::vector<double> arrived(buckets, 0.0);  // by bucket: time at all members
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const BucketCost& cost = group.parts[i]->buckets[bucket];
      Side& side = exchange.sides[i];
      double& lane = workers_[group.members[i]].lane_free;
      lane = std::max(side.ready[bucket], lane) + cost.fold;
      side.lane_seconds += cost.fold;
      arrived[bucket] = std::max(
          arrived[bucket],
          send_bucket(group.members[i], cost.there, group.parts[i]->latency_seconds, side));
    }
  }
  // A lane sums complete buckets while it waits for gradients of other buckets.
  std::vector<double> folded;
  for (const std::size_t member : group.members) {
    folded.push_back(std::exchange(workers_[member].lane_free, 0.0));
  }
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const BucketCost& cost = group.parts[i]->buckets[bucket];
      Side& side = exchange.sides[i];
      double& lane = workers_[group.members[i]].lane_free;
      lane = std::max(arrived[bucket], lane) + cost.sum;
      side.lane_seconds += cost.sum;
      exchange.done = std::max(exchange.done, send_bucket(group.members[i], cost.back,
                                                          group.parts[i]->latency_seconds, side));
    }
  }
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    double& lane = workers_[group.members[i]].lane_free;
    lane = std::max(lane, folded[i]);
  }
  exchange.done += setup_.wake_seconds;
  for (const std::size_t member : group.members) {
    wake(member);
  }
}

bool Simulation::await(std::size_t index, HeldNetwork& held) {
  if (held.awaited == held.begun) {
    return true;  // nothing is under way
  }
  const Exchange& exchange = held.group->exchanges[held.awaited];
  if (exchange.done < 0.0) {
    return false;
  }
  ++held.awaited;
  wait_for(index, exchange, exchange.sides[held.member]);
  return true;
}

void Simulation::wait_for(std::size_t index, const Exchange& exchange, const Side& side) {
  Worker& worker = workers_[index];
  const double beside = std::max(0.0, worker.now - std::ranges::min(side.ready));
  const double stolen =
      setup_.workers[index].device.lane_steal * std::min(side.lane_seconds, beside);
  worker.now += stolen;
  worker.parts.beside += stolen;
  const double wait = std::max(0.0, exchange.done - worker.now);
  const double imbalance =
      std::min(wait, std::max(0.0, exchange.last_ready - std::ranges::max(side.ready)));
  const double rest = wait - imbalance;
  const double work = side.wire_seconds + side.lane_seconds;
  const double wire = work > 0.0 ? rest * side.wire_seconds / work : 0.0;
  worker.now += wait;
  worker.parts.imbalance += imbalance;
  worker.parts.wire += wire;
  worker.parts.sums += rest - wire;
}

Simulation::Stretch Simulation::take() {
  const auto last = std::ranges::max_element(workers_, {}, &Worker::now);
  const double seconds = last->now - std::exchange(taken_at_, last->now);
  Stretch stretch{.seconds = seconds, .parts = last->parts};
  // Another worker may have been last before: the rest is a wait for other workers.
  stretch.parts.bubble += seconds - stretch.parts.total();
  for (Worker& worker : workers_) {
    worker.parts = {};
  }
  return stretch;
}

Simulation::Stretch mean_step(SimulationSetup setup, const StepLists& lists) {
  constexpr int kFillingSteps = 3;  // after these, every step takes the same time
  constexpr int kSteps = 2;
  Simulation simulation(std::move(setup));
  for (int step = 0; step < kFillingSteps; ++step) {
    simulation.run(lists.usual);
  }
  (void)simulation.take();
  for (int step = 0; step < kSteps; ++step) {
    simulation.run(lists.usual);
  }
  Simulation::Stretch mean = simulation.take();
  mean.seconds /= kSteps;
  for (const auto& [name, part] : kStepParts) {
    mean.parts.*part /= kSteps;
  }
  const double usual = mean.seconds;
  for (const StepLists::Lazy& lazy : lists.lazy) {
    simulation.run(lazy.lists);
    simulation.run(lists.usual);
    mean.seconds += std::max(0.0, simulation.take().seconds - 2.0 * usual) / lazy.interval;
  }
  return mean;
}

}  // namespace gangway::plan
