// SPDX-License-Identifier: MIT
#include "worker/step/host_sync.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace gangway::worker {
namespace {

using Clock = comm::Reducer::Clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Shares the time after `begin` out among the buckets: each has the stretch that it alone made
/// longer.
void add_by_bucket(std::span<const Clock::time_point> finished_at, Clock::time_point begin,
                   std::vector<double>& by_bucket) {
  by_bucket.resize(finished_at.size(), 0.0);
  std::array<std::size_t, comm::kMaxBuckets> order{};
  const std::span<std::size_t> used(order.data(), finished_at.size());
  std::iota(used.begin(), used.end(), std::size_t{0});
  std::ranges::sort(used, {}, [&](std::size_t bucket) { return finished_at[bucket]; });
  for (const std::size_t bucket : used) {
    by_bucket[bucket] += std::max(0.0, seconds_between(begin, finished_at[bucket]));
    begin = std::max(begin, finished_at[bucket]);
  }
}

}  // namespace

HostSync::HostSync(NetworkState& state, int network, const ExchangeSetup& setup, int worker,
                   WireFormat wire)
    : state_(state),
      setup_(setup),
      network_(network),
      wire_(wire),
      partials_(setup_.host, state.layout().size(), setup_.ranges[static_cast<std::size_t>(worker)],
                setup_.num_microbatches),
      updater_(state, static_cast<std::size_t>(network), setup_.snapshots),
      watch_(state, [this](std::size_t bucket) {
        reducer_->bucket_ready(bucket);
        setup_.lane.wake();
      }) {}

HostSync::~HostSync() {
  if (reducer_) {
    setup_.lane.detach(*reducer_);
  }
}

void HostSync::connect() {
  reducer_.emplace(setup_.transport,
                   comm::Reducer::Setup{.network = network_,
                                        .layout = &state_.layout(),
                                        .plan = &state_.plan(),
                                        .weights = &state_.weights(),
                                        .updater = &updater_,
                                        .partials = &partials_,
                                        .host = &setup_.host,
                                        .ranges = setup_.ranges,
                                        .hosts = setup_.hosts,
                                        .num_microbatches = setup_.num_microbatches,
                                        .wire = wire_,
                                        .timeout = setup_.timeout,
                                        .on_stall = setup_.on_stall,
                                        .trace = setup_.trace});
  setup_.lane.attach(*reducer_);
}

void HostSync::open_leaf() { state_.bind_gradients(partials_.open_leaf()); }

void HostSync::close_leaf(int microbatch) { partials_.push(microbatch); }

void HostSync::open(int phase, const UpdatePlan& plan, double clip_norm) {
  phase_ = phase;
  updater_.prepare(plan);
  reducer_->open(clip_norm);
  is_open_ = true;
}

void HostSync::arm() {
  watch_.arm();
  setup_.lane.wake();
}

void HostSync::reduce() {
  unfired_ += watch_.disarm();
  (void)reducer_->all_ready();
  is_open_ = false;
  setup_.lane.wake();
}

void HostSync::await() {
  const auto begin = Clock::now();
  const bool was_under_way = reducer_->needs() != comm::Exchange::Need::kNothing;
  setup_.lane.wait(*reducer_);
  if (was_under_way) {
    Exposure& exposure = exposures_.emplace_back(
        Exposure{.phase = phase_, .seconds = seconds_between(begin, Clock::now())});
    waited_seconds_ += exposure.seconds;
    add_by_bucket(reducer_->finished_at(), begin, exposure.by_bucket);
  }
}

std::vector<Exposure> HostSync::take_exposures() { return std::exchange(exposures_, {}); }

double HostSync::take_host_wait_seconds() { return std::exchange(waited_seconds_, 0.0); }

std::size_t HostSync::take_unfired() { return std::exchange(unfired_, 0); }

}  // namespace gangway::worker
