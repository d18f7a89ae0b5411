// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_worker.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace gangway::bench {
namespace {

using pipeline::Instruction;
using pipeline::Operation;

constexpr std::chrono::seconds kPatience{60};

/// The payload in place of a tensor: the time of its arrival, on the clock of all workers.
using Arrival = Sleeper::Clock::rep;

}  // namespace

EmulatedWorker::EmulatedWorker(const EmulatedWorkerSetup& setup)
    : layout_(setup.layout),
      wires_(setup.wires),
      worker_(setup.worker),
      transport_(setup.hub, setup.worker) {
  const std::size_t networks = layout_.input().job.networks.size();
  comm::HostMemory memory({.members = comm::workers_of(place().host, layout_.hosts()),
                           .worker = worker_,
                           .token = setup.token,
                           .num_flags = networks * comm::kFlagsPerNetwork});
  allocate(memory);
  host_.emplace(std::move(memory).connect(0, comm::Deadline(kPatience)));
  lane_ = std::make_unique<comm::Lane>([] {});
  lane_->listen_to(*host_, comm::Lane::Core::kShared);
  for (const NetworkId network : layout_.input().job.networks.ids()) {
    connect(network);
  }
  tensors_.emplace(transport_, *lane_, comm::TensorChannelSetup{.timeout = kPatience});
}

EmulatedWorker::~EmulatedWorker() {
  tensors_.reset();
  for (const auto& network : held_) {
    if (network->reducer) {
      lane_->detach(*network->reducer);
    }
  }
  lane_->stop_listening();
}

/// Allocates all networks: workers of a host must share memory in the same order.
void EmulatedWorker::allocate(comm::HostMemory& memory) {
  for (const NetworkId network : layout_.input().job.networks.ids()) {
    const std::size_t size = layout_.arena(network).size();
    const EmulatedPart* part = layout_.part_of(network, worker_);
    comm::Arena weights = memory.allocate_shared(size, comm::Deadline(kPatience));
    comm::PartialStack stack(memory, size, layout_.staged().layout[network].range_of(worker_),
                             layout_.input().job.training.microbatches,
                             part != nullptr ? part->ranges : std::vector<comm::ElementRange>());
    held_.push_back(std::make_unique<HeldNetwork>(std::move(weights), std::move(stack)));
  }
}

void EmulatedWorker::connect(NetworkId network) {
  const EmulatedPart* part = layout_.part_of(network, worker_);
  if (part == nullptr) {
    return;
  }
  HeldNetwork& own = held(network);
  std::vector<int> hosts;
  for (const int worker : part->group.workers) {
    hosts.push_back(layout_.places()[static_cast<std::size_t>(worker)].host);
  }
  own.transport.emplace(transport_, part->group.workers);
  own.host.emplace(host_->among(part->group.workers));
  own.updater.emplace(part->update_seconds / place().speed, on_lane_);
  own.reducer.emplace(
      *own.transport,
      comm::ReducerSetup{.network = static_cast<int>(network),
                         .layout = &layout_.arena(network),
                         .plan = &part->plan,
                         .weights = &own.weights,
                         .updater = &*own.updater,
                         .partials = &own.stack,
                         .host = &*own.host,
                         .ranges = part->group.ranges,
                         .hosts = std::move(hosts),
                         .num_microbatches = layout_.input().job.training.microbatches});
  lane_->attach(*own.reducer);
}

std::vector<Sleeper::Clock::time_point> EmulatedWorker::run(const std::vector<plan::Lists>& lists) {
  std::vector<Sleeper::Clock::time_point> ends;
  compute_.wait_until(Sleeper::Clock::now());
  for (step_ = 0; step_ < static_cast<std::int64_t>(lists.size()); ++step_) {
    const std::vector<Instruction>& list =
        lists[static_cast<std::size_t>(step_)][static_cast<std::size_t>(worker_)];
    expect(list);
    pipeline::execute(list, *this);
    ends.push_back(Sleeper::Clock::now());
    latest_ = std::max(latest_, compute_.take_latest());
  }
  for (const auto& network : held_) {
    if (network->reducer) {
      lane_->wait(*network->reducer);
    }
  }
  tensors_->finish_sending();
  return ends;
}

void EmulatedWorker::perform(const Instruction& at) {
  HeldNetwork& network = held(at.network);
  switch (at.operation) {
    case Operation::kOpenLeaf:
      (void)network.stack.open_leaf();
      return;
    case Operation::kCloseLeaf:
      return network.stack.push(at.microbatch);
    case Operation::kArm:
      open(network);
      network.is_armed = true;
      return;
    case Operation::kReduce:
      open(network);
      (void)network.reducer->all_ready();
      network.is_open = false;
      return lane_->wake();
    case Operation::kAwait:
      return await(network);
    case Operation::kSend:
    case Operation::kSendGradient:
      return send(at);
    case Operation::kReceive:
    case Operation::kReceiveGradient:
      return receive(at);
    default:
      return compute(at);
  }
}

void EmulatedWorker::open(HeldNetwork& network) {
  if (!network.is_open) {
    network.reducer->open();
    network.is_open = true;
  }
}

void EmulatedWorker::await(HeldNetwork& network) {
  lane_->wait(*network.reducer);
  if (!network.reducer->finished_at().empty()) {
    compute_.wait_until(*std::ranges::max_element(network.reducer->finished_at()));
  }
}

void EmulatedWorker::compute(const Instruction& at) {
  const plan::NodeCost& cost = layout_.cost_of(at);
  const double seconds = cost.seconds_of(at) / place().speed;
  double done = 0.0;
  HeldNetwork& network = held(at.network);
  if (at.goes_back() && std::exchange(network.is_armed, false)) {
    const std::vector<double>& ready = layout_.part_of(at.network, worker_)->ready_shares;
    for (std::size_t bucket = 0; bucket < ready.size(); ++bucket) {
      compute_.work((ready[bucket] - done) * seconds);
      done = ready[bucket];
      network.reducer->bucket_ready(bucket);
      lane_->wake();
    }
  }
  compute_.work((1.0 - done) * seconds);
}

comm::TensorKey EmulatedWorker::key_of(const Instruction& at) const {
  return {.step = step_,
          .phase = at.phase,
          .repeat = at.repeat,
          .pass = at.pass,
          .microbatch = at.microbatch,
          .node = at.node,
          .is_gradient = at.carries_gradient() ? 1 : 0};
}

void EmulatedWorker::expect(const std::vector<Instruction>& list) {
  std::map<int, int> counts;  // by peer
  for (const Instruction& at : list) {
    counts[at.peer] += at.is_receive() ? 1 : 0;
  }
  for (const auto& [peer, count] : counts) {
    if (count > 0) {
      tensors_->expect(peer, count);
    }
  }
}

void EmulatedWorker::send(const Instruction& at) {
  const auto there = wires_.arrival(
      worker_, at.peer, static_cast<double>(layout_.cost_of(at).output_bytes), compute_.moment());
  const auto word = std::make_shared<const Arrival>(there.time_since_epoch().count());
  comm::TensorShape shape{.axes = 1, .bytes = sizeof(Arrival)};
  tensors_->send(at.peer, key_of(at), shape, std::as_bytes(std::span(word.get(), 1)), word);
}

void EmulatedWorker::receive(const Instruction& at) {
  const comm::ReceivedTensor received = tensors_->receive(at.peer, key_of(at));
  Arrival word = 0;
  std::memcpy(&word, received.memory.get(), sizeof(word));
  compute_.wait_until(Sleeper::Clock::time_point(Sleeper::Clock::duration(word)));
}

}  // namespace gangway::bench
