// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/lane.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "pipeline/executor.hpp"

namespace gangway::bench {
namespace {

using Clock = std::chrono::steady_clock;
using launch::NetworkCost;
using launch::PlanInput;
using launch::WorkerPlace;
using pipeline::Instruction;
using pipeline::Operation;

constexpr std::chrono::seconds kPatience{60};
/// What follows so soon has not waited for anything but the end of a sleep.
constexpr std::chrono::milliseconds kOversleep{3};

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Somebody who sleeps in the place of work. What is slept too long, as on a machine that does
/// other work, is made up for by what follows.
class Sleeper {
 public:
  /// Right behind the last work, or what was waited for.
  void work(double seconds) {
    end_ += duration_of(seconds);
    std::this_thread::sleep_until(end_);
  }
  /// The same, where nobody has said what was waited for.
  void work_now(double seconds) {
    const auto now = Clock::now();
    end_ = now - end_ < kOversleep ? end_ : now;
    work(seconds);
  }
  /// What follows does not begin before `moment`.
  void wait_until(Clock::time_point moment) { end_ = std::max(end_, moment); }

 private:
  Clock::time_point end_ = Clock::now();
};

/// Updates a slice: sleeps.
class SleepingUpdater final : public comm::SliceUpdater {
 public:
  SleepingUpdater(double seconds_per_element, Sleeper& lane)
      : seconds_per_element_(seconds_per_element), lane_(lane) {}
  void update(comm::ElementRange range, std::span<const float> /*mean*/) override {
    lane_.work_now(seconds_per_element_ * static_cast<double>(range.size()));
  }

 private:
  double seconds_per_element_;
  Sleeper& lane_;
};

/// What all workers have alike.
struct Common {
  const PlanInput& input;
  const std::vector<pipeline::Phase>& phases;
  const launch::PlannedLayout& layout;
  std::vector<WorkerPlace> places;
  std::vector<int> hosts;
  std::vector<MicrobatchRange> ranges;
  std::vector<comm::ArenaLayout> arenas;  // by network
  std::vector<comm::BucketPlan> plans;
  std::string token;
  int steps = 0;
};

/// One network on one worker.
struct EmulatedNetwork {
  EmulatedNetwork(const Common& common, std::size_t index, comm::HostMemory& host,
                  MicrobatchRange own, double seconds_per_element, Sleeper& lane)
      : weights(host.allocate_shared(common.arenas[index].size(), comm::Deadline(kPatience))),
        updater(seconds_per_element, lane),
        stack(host, common.arenas[index].size(), own, common.input.job.training.microbatches) {}

  comm::Arena weights;
  SleepingUpdater updater;
  comm::PartialStack stack;
  std::optional<comm::Reducer> reducer;
  bool is_open = false;
  std::vector<double> ready_after;  ///< armed: of the backward that follows
};

class EmulatedWorker final : public pipeline::Operations {
 public:
  EmulatedWorker(const Common& common, comm::LoopbackHub& hub, int worker)
      : common_(common),
        place_(common.places[static_cast<std::size_t>(worker)]),
        transport_(hub, worker),
        names_(common.input.job.network_names()) {
    const auto networks = common.input.profile.networks.size();
    comm::HostMemory memory({.members = comm::workers_of(place_.host, common.hosts),
                             .worker = worker,
                             .token = common.token,
                             .num_flags = networks * comm::kFlagsPerNetwork});
    for (std::size_t i = 0; i < networks; ++i) {
      const NetworkCost& cost = common.input.profile.networks[i];
      networks_.push_back(std::make_unique<EmulatedNetwork>(
          common, i, memory, place_.range,
          cost.update.seconds / static_cast<double>(cost.arena_elements) / place_.speed, on_lane_));
    }
    host_.emplace(std::move(memory).connect(0, comm::Deadline(kPatience)));
    for (std::size_t i = 0; i < networks; ++i) {
      EmulatedNetwork& network = *networks_[i];
      network.reducer.emplace(
          transport_,
          comm::Reducer::Setup{.network = static_cast<int>(i),
                               .layout = &common.arenas[i],
                               .plan = &common.plans[i],
                               .weights = &network.weights,
                               .updater = &network.updater,
                               .partials = &network.stack,
                               .host = &*host_,
                               .ranges = common.ranges,
                               .hosts = common.hosts,
                               .num_microbatches = common.input.job.training.microbatches});
    }
    lane_ = std::make_unique<comm::Lane>([] {});
    lane_->listen_to(&*host_, comm::Lane::Core::kShared);
    for (const auto& network : networks_) {
      lane_->attach(*network->reducer);
    }
  }
  ~EmulatedWorker() override {
    for (const auto& network : networks_) {
      lane_->detach(*network->reducer);
    }
    lane_->listen_to(nullptr, comm::Lane::Core::kShared);
  }
  EmulatedWorker(const EmulatedWorker&) = delete;
  EmulatedWorker& operator=(const EmulatedWorker&) = delete;

  /// @return when each step was over
  std::vector<Clock::time_point> run() {
    std::vector<Clock::time_point> ends;
    compute_.wait_until(Clock::now());
    for (int step = 0; step < common_.steps; ++step) {
      pipeline::execute(
          pipeline::one_stage_schedule(common_.phases, place_.range, step, common_.layout.overlap),
          *this);
      ends.push_back(Clock::now());
    }
    for (const auto& network : networks_) {
      lane_->wait(*network->reducer);
    }
    return ends;
  }

  void perform(const Instruction& at) override {
    EmulatedNetwork& network = *networks_[static_cast<std::size_t>(at.network)];
    switch (at.operation) {
      case Operation::kOpenLeaf:
        (void)network.stack.open_leaf();
        return;
      case Operation::kCloseLeaf:
        return network.stack.push(at.microbatch);
      case Operation::kArm:
        open(network);
        network.ready_after = ready_shares(at.network);
        return;
      case Operation::kReduce:
        open(network);
        (void)network.reducer->all_ready();
        network.is_open = false;
        return lane_->wake();
      case Operation::kAwait:
        return await(network);
      default:
        return compute(at, network);
    }
  }

 private:
  static void open(EmulatedNetwork& network) {
    if (!network.is_open) {
      network.reducer->open();
      network.is_open = true;
    }
  }
  void await(EmulatedNetwork& network) {
    lane_->wait(*network.reducer);
    compute_.wait_until(*std::ranges::max_element(network.reducer->finished_at()));
  }
  /// By bucket: the blocks of the sample cost alike.
  [[nodiscard]] std::vector<double> ready_shares(NetworkId id) const {
    std::vector<double> shares;
    const auto& blocks = common_.input.profile.blocks;
    const auto count =
        static_cast<double>(std::ranges::count(blocks, names_[id], &launch::BlockCost::network));
    for (const launch::BucketSize& bucket :
         common_.input.profile.networks[static_cast<std::size_t>(id)].buckets) {
      shares.push_back((count - bucket.first_block) / count);
    }
    return shares;
  }
  void compute(const Instruction& at, EmulatedNetwork& network) {
    const double seconds = common_.input.profile.cost_of(at, names_).seconds / place_.speed;
    double done = 0.0;
    const std::vector<double> ready = std::exchange(network.ready_after, {});
    for (std::size_t bucket = 0; bucket < ready.size(); ++bucket) {
      compute_.work((ready[bucket] - done) * seconds);
      done = ready[bucket];
      network.reducer->bucket_ready(bucket);
      lane_->wake();
    }
    compute_.work((1.0 - done) * seconds);
  }

  const Common& common_;
  WorkerPlace place_;
  comm::LoopbackTransport transport_;
  PerNetwork<std::string> names_;
  Sleeper compute_;
  Sleeper on_lane_;
  std::vector<std::unique_ptr<EmulatedNetwork>> networks_;
  std::optional<comm::HostGroup> host_;
  std::unique_ptr<comm::Lane> lane_;
};

/// Delays of messages: those of a host leave one after another, as fast as its link is.
class Wires {
 public:
  explicit Wires(const Common& common)
      : common_(common), free_(static_cast<std::size_t>(common.hosts.back()) + 1) {}

  comm::LoopbackHub::Fate fate(int from, int to, comm::MessageTag tag) {
    const auto network = static_cast<std::size_t>(tag.network);
    const bool is_sum = tag.kind == comm::MessageKind::kPartial;
    const comm::ElementRange slice =
        common_.plans[network].slice(static_cast<std::size_t>(tag.bucket), is_sum ? to : from);
    const launch::Link& link =
        common_.input.cluster.link(common_.places[static_cast<std::size_t>(from)].node,
                                   common_.places[static_cast<std::size_t>(to)].node);
    Clock::time_point& free =
        free_[static_cast<std::size_t>(common_.hosts[static_cast<std::size_t>(from)])];
    const auto now = Clock::now();
    free = std::max(now, free) +
           duration_of(static_cast<double>(slice.size() * sizeof(float)) / link.bytes_per_second);
    return {.delay = std::chrono::duration_cast<std::chrono::microseconds>(
                free - now + duration_of(link.latency_seconds))};
  }

 private:
  const Common& common_;
  std::vector<Clock::time_point> free_;
};

Common common_of(const PlanInput& input, const std::vector<pipeline::Phase>& phases,
                 const launch::PlannedLayout& layout, int steps) {
  static std::atomic<int> runs = 0;
  Common common{.input = input,
                .phases = phases,
                .layout = layout,
                .places = places_of(layout, input.cluster, input.job.training.microbatches),
                .token = fmt::format("plan{}x{}", getpid(), runs++),
                .steps = steps};
  for (const WorkerPlace& place : common.places) {
    common.hosts.push_back(place.host);
    common.ranges.push_back(place.range);
  }
  for (const NetworkCost& network : input.profile.networks) {
    const comm::ArenaLayout::Tensor all{"all", static_cast<std::size_t>(network.arena_elements)};
    common.arenas.emplace_back(std::span(&all, 1), std::span<const comm::ArenaLayout::Tensor>());
    common.plans.emplace_back(common.arenas.back(), layout.workers, network.buckets.size());
  }
  return common;
}

}  // namespace

double emulated_step_seconds(const PlanInput& input, const std::vector<pipeline::Phase>& phases,
                             const launch::PlannedLayout& layout, int steps) {
  constexpr int kWarmUp = 2;
  const Common common = common_of(input, phases, layout, kWarmUp + steps);
  comm::LoopbackHub hub(layout.workers);
  Wires wires(common);
  hub.inject(
      [&wires](int from, int to, comm::MessageTag tag) { return wires.fate(from, to, tag); });
  std::vector<std::exception_ptr> failures(common.places.size());
  std::vector<Clock::time_point> ends(static_cast<std::size_t>(common.steps));
  std::mutex mutex;  // guards `ends`
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < layout.workers; ++worker) {
      threads.emplace_back([&, worker] {
        try {
          EmulatedWorker emulated(common, hub, worker);
          const std::vector<Clock::time_point> own = emulated.run();
          const std::scoped_lock lock(mutex);
          for (std::size_t step = 0; step < own.size(); ++step) {
            ends[step] = std::max(ends[step], own[step]);
          }
        } catch (...) {
          failures[static_cast<std::size_t>(worker)] = std::current_exception();
          hub.kill(worker);
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  return std::chrono::duration<double>(ends.back() - ends[kWarmUp - 1]).count() / steps;
}

}  // namespace gangway::bench
