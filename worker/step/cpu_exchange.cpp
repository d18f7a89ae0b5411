// SPDX-License-Identifier: MIT
#include "worker/step/cpu_exchange.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "worker/trace/lane_wait.hpp"

namespace gangway::worker {
namespace {

using Clock = comm::Reducer::Clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Divides the time after `begin` among the buckets: each gets the time that it alone added.
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

CpuExchange::CpuExchange(const CpuExchangeSetup& setup, comm::PartialStack partials)
    : state_(setup.state),
      lane_(setup.exchange.lane),
      partials_(std::move(partials)),
      updater_(state_),
      reducer_(setup.exchange.transport, {.network = static_cast<int>(setup.network),
                                          .layout = &state_.layout(),
                                          .plan = &state_.group_plan(),
                                          .weights = &state_.weights(),
                                          .updater = &updater_,
                                          .partials = &partials_,
                                          .host = &setup.exchange.host,
                                          .ranges = setup.exchange.ranges,
                                          .hosts = setup.exchange.hosts,
                                          .num_microbatches = setup.exchange.num_microbatches,
                                          .wire = setup.wire,
                                          .timeout = setup.exchange.timeout,
                                          .on_stall = setup.exchange.on_stall,
                                          .trace = setup.exchange.trace,
                                          .norm = {.transport = setup.exchange.whole.transport,
                                                   .plan = &state_.plan(),
                                                   .workers = setup.exchange.whole.workers}}),
      watch_(state_, [this](std::size_t bucket) {
        reducer_.bucket_ready(bucket);
        lane_.wake();
      }) {
  lane_.attach(reducer_);
}

CpuExchange::~CpuExchange() { lane_.detach(reducer_); }

void CpuExchange::open(int phase, const UpdatePlan& plan) {
  phase_ = phase;
  agrees_ = plan.agreement.is_needed;
  updater_.prepare(plan);
  reducer_.open(plan.agreement);
  is_open_ = true;
}

void CpuExchange::arm() {
  watch_.arm();
  lane_.wake();
}

void CpuExchange::send_replayed(const std::vector<std::size_t>& buckets) {
  for (const std::size_t bucket : buckets) {
    reducer_.bucket_ready(bucket);
  }
  lane_.wake();
}

void CpuExchange::reduce() {
  unfired_ += watch_.disarm();
  (void)reducer_.all_ready();
  is_open_ = false;
  lane_.wake();
}

void CpuExchange::await() {
  if (reducer_.needs() == comm::Exchange::Need::kNothing) {
    return lane_.wait(reducer_);  // the reducer may have failed since
  }
  const auto begin = Clock::now();
  {
    const LaneWait wait(lane_);
    lane_.wait(reducer_);
  }
  Exposure& exposure = exposures_.emplace_back(
      Exposure{.phase = phase_, .seconds = seconds_between(begin, Clock::now())});
  add_by_bucket(reducer_.finished_at(), begin, exposure.by_bucket);
}

std::optional<double> CpuExchange::agreed_norm() const {
  return agrees_ ? std::optional(reducer_.agreed_norm()) : std::nullopt;
}

std::vector<Exposure> CpuExchange::take_exposures() { return std::exchange(exposures_, {}); }

}  // namespace gangway::worker
