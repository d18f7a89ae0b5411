// SPDX-License-Identifier: MIT
#include "launch/plan/step_simulation.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

/// Of a lane, to post a message and to see that it is there.
constexpr double kMessageSeconds = 2e-6;
constexpr double kFloatBytes = 4.0;

/// Slices are made of whole blocks (comm/arena/bucket_plan.hpp): some owners have one more.
constexpr std::int64_t kBlockElements = 4096;

double largest_slice(std::int64_t elements, int workers) {
  const std::int64_t blocks = (elements + kBlockElements - 1) / kBlockElements;
  return static_cast<double>((blocks + workers - 1) / workers * kBlockElements);
}

std::size_t index_of(NetworkId network) { return static_cast<std::size_t>(network); }

}  // namespace

void wait_for(const AwaitedExchange& exchange, double& now, StepParts& parts) {
  const double beside = std::max(0.0, now - exchange.first_ready);
  const double stolen = exchange.lane_steal * std::min(exchange.lane_seconds, beside);
  now += stolen;
  parts.beside += stolen;
  const double wait = std::max(0.0, exchange.done - now);
  const double imbalance =
      std::min(wait, std::max(0.0, exchange.last_of_all - exchange.last_ready));
  const double rest = wait - imbalance;
  const double work = exchange.wire_seconds + exchange.lane_seconds;
  const double wire = work > 0.0 ? rest * exchange.wire_seconds / work : 0.0;
  now += wait;
  parts.imbalance += imbalance;
  parts.wire += wire;
  parts.sums += rest - wire;
}

StepSimulation::StepSimulation(Setup setup)
    : setup_(std::move(setup)),
      workers_(setup_.classes.size()),
      exchanges_(setup_.networks.size()) {
  for (Worker& worker : workers_) {
    worker.begun.resize(setup_.networks.size(), 0);
    worker.awaited.resize(setup_.networks.size(), 0);
  }
}

void StepSimulation::run(const std::vector<std::vector<ProgramPart>>& programs) {
  for (Worker& worker : workers_) {
    worker.next = 0;
  }
  bool is_over = false;
  while (!is_over) {
    is_over = true;
    bool moved = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      moved = advance(i, programs[i]) || moved;
      is_over = is_over && workers_[i].next == programs[i].size();
    }
    if (!moved && !is_over) {
      throw InvariantError("a simulated step stands still; please report this");
    }
  }
}

bool StepSimulation::advance(std::size_t index, const std::vector<ProgramPart>& program) {
  Worker& worker = workers_[index];
  const std::size_t begin = worker.next;
  for (; worker.next < program.size(); ++worker.next) {
    const ProgramPart& part = program[worker.next];
    switch (part.kind) {
      case ProgramPart::Kind::kCompute:
        compute(index, part.seconds);
        break;
      case ProgramPart::Kind::kBuckets: {
        const WorkerClass& of = setup_.classes[index];
        Side& side = begun_side(index, part.network);
        for (const double after : part.ready_after) {
          side.ready.push_back(worker.now + after * of.slowdown / of.speed);
        }
        compute(index, part.seconds);
        break;
      }
      case ProgramPart::Kind::kExchange:
        make_whole(index, part.network);
        break;
      case ProgramPart::Kind::kAwait:
        if (!await(index, part.network)) {
          return worker.next > begin;
        }
        break;
    }
  }
  return worker.next > begin;
}

void StepSimulation::compute(std::size_t index, double seconds) {
  const WorkerClass& of = setup_.classes[index];
  Worker& worker = workers_[index];
  const double alone = seconds / of.speed;
  worker.now += alone * of.slowdown;
  worker.parts.compute += alone;
  worker.parts.beside += alone * (of.slowdown - 1.0);
}

StepSimulation::Side& StepSimulation::begun_side(std::size_t index, NetworkId network) {
  const std::size_t number = workers_[index].begun[index_of(network)];
  std::vector<Exchange>& exchanges = exchanges_[index_of(network)];
  if (exchanges.size() == number) {
    exchanges.push_back({.sides = std::vector<Side>(setup_.classes.size())});
  }
  return exchanges[number].sides[index];
}

void StepSimulation::make_whole(std::size_t index, NetworkId network) {
  Side& side = begun_side(index, network);
  Worker& worker = workers_[index];
  Exchange& exchange = exchanges_[index_of(network)][worker.begun[index_of(network)]++];
  side.ready.resize(setup_.profile->networks[index_of(network)].buckets.size(), worker.now);
  side.is_whole = true;
  for (const double ready : side.ready) {
    exchange.last_ready = std::max(exchange.last_ready, ready);
  }
  if (++exchange.whole == setup_.classes.size()) {
    carry_out(exchange, network);
  }
}

double StepSimulation::seconds_to_add(const WorkerClass& of) const {
  return setup_.profile->add_seconds_per_byte * of.slowdown / of.speed;
}

double StepSimulation::send(std::size_t index, Side& side, double from, double bytes) {
  const WorkerClass& of = setup_.classes[index];
  if (of.other_hosts == 0) {
    return from;
  }
  Worker& worker = workers_[index];
  const double begin = std::max(from, worker.link_free);
  const double seconds = bytes * of.seconds_per_byte + of.messages * kMessageSeconds;
  worker.link_free = begin + seconds;
  side.wire_seconds += seconds + of.latency_seconds;
  return begin + seconds + of.latency_seconds;
}

void StepSimulation::carry_out(Exchange& exchange, NetworkId network) {
  const NetworkCost& cost = setup_.profile->networks[index_of(network)];
  const double wake = setup_.profile->wake_seconds;
  const double update = std::max(0.0, cost.update.seconds - wake);
  const double wire_bytes = setup_.wire_bytes[index_of(network)];
  std::vector<double> arrived(cost.buckets.size(), 0.0);  // by bucket, everywhere
  for (std::size_t bucket = 0; bucket < cost.buckets.size(); ++bucket) {
    const auto elements = static_cast<double>(cost.buckets[bucket].elements);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const WorkerClass& of = setup_.classes[i];
      Side& side = exchange.sides[i];
      // Own leaves, and as a delegate the host's partials for owners elsewhere.
      const double elsewhere = (1.0 - of.host_share) / of.host_workers;
      const double added = of.last_merges + elsewhere * (of.host_partials - of.host_sums);
      const double folding = added * elements * kFloatBytes * seconds_to_add(of);
      const double folded = std::max(side.ready[bucket], workers_[i].lane_free) + folding;
      workers_[i].lane_free = folded;
      side.lane_seconds += folding;
      const double bytes = elements * wire_bytes * (1.0 - of.host_share) * of.host_sums;
      arrived[bucket] = std::max(arrived[bucket], send(i, side, folded, bytes));
    }
  }
  double done = 0.0;
  std::vector<double> lane_free;
  for (std::size_t bucket = 0; bucket < cost.buckets.size(); ++bucket) {
    const auto elements = static_cast<double>(cost.buckets[bucket].elements);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const WorkerClass& of = setup_.classes[i];
      Side& side = exchange.sides[i];
      const double working =
          largest_slice(cost.buckets[bucket].elements, setup_.workers) *
          ((of.sources - 1) * kFloatBytes * seconds_to_add(of) +
           update / static_cast<double>(cost.arena_elements) * of.slowdown / of.speed);
      const double begin = bucket == 0 ? arrived[bucket] : std::max(arrived[bucket], lane_free[i]);
      lane_free.resize(workers_.size(), 0.0);
      lane_free[i] = begin + working;
      workers_[i].lane_free = std::max(workers_[i].lane_free, lane_free[i]);
      side.lane_seconds += working;
      const double bytes = elements * wire_bytes * of.host_share * of.other_hosts;
      done = std::max(done, send(i, side, lane_free[i], bytes));
    }
  }
  for (Side& side : exchange.sides) {
    side.done = done + wake;
  }
  exchange.is_over = true;
}

bool StepSimulation::await(std::size_t index, NetworkId network) {
  Worker& worker = workers_[index];
  std::size_t& awaited = worker.awaited[index_of(network)];
  if (awaited == worker.begun[index_of(network)]) {
    return true;  // nothing is under way
  }
  const Exchange& exchange = exchanges_[index_of(network)][awaited];
  if (!exchange.is_over) {
    return false;
  }
  ++awaited;
  const Side& side = exchange.sides[index];
  wait_for({.first_ready = *std::ranges::min_element(side.ready),
            .last_ready = *std::ranges::max_element(side.ready),
            .last_of_all = exchange.last_ready,
            .done = side.done,
            .lane_seconds = side.lane_seconds,
            .wire_seconds = side.wire_seconds,
            .lane_steal = setup_.classes[index].lane_steal},
           worker.now, worker.parts);
  return true;
}

StepSimulation::Stretch StepSimulation::take() {
  const auto last = std::ranges::max_element(workers_, {}, &Worker::now);
  Stretch stretch{.seconds = last->now - std::exchange(taken_at_, last->now), .parts = last->parts};
  for (Worker& worker : workers_) {
    worker.parts = {};
  }
  return stretch;
}

}  // namespace gangway::launch
