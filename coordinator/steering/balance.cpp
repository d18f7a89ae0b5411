// SPDX-License-Identifier: MIT
#include "coordinator/steering/balance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/numbers/median.hpp"

namespace gangway::coordinator {
namespace {

/// Returns a step's duration. @param seconds  per micro-batch, by worker
double busiest(const std::vector<double>& seconds, const std::vector<int>& shares) {
  double longest = 0.0;
  for (std::size_t worker = 0; worker < seconds.size(); ++worker) {
    longest = std::max(longest, seconds[worker] * shares[worker]);
  }
  return longest;
}

std::vector<double> each_seconds(const BalanceTick& tick, const std::vector<int>& shares) {
  std::vector<double> seconds;
  for (std::size_t worker = 0; worker < shares.size(); ++worker) {
    seconds.push_back(tick.work_seconds[worker] / shares[worker]);
  }
  return seconds;
}

/// Returns the time of `worker` divided by the other workers' median.
double slowness_of(std::size_t worker, std::vector<double> seconds) {
  const double own = seconds[worker];
  seconds.erase(seconds.begin() + static_cast<std::ptrdiff_t>(worker));
  const double others = median_of(std::move(seconds));
  return others > 0.0 ? own / others : 1.0;
}

}  // namespace

std::vector<int> best_shares(const std::vector<double>& seconds, int microbatches) {
  std::vector<int> shares(seconds.size(), 1);
  for (auto left = microbatches - static_cast<int>(seconds.size()); left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t worker = 1; worker < seconds.size(); ++worker) {
      if (seconds[worker] * (shares[worker] + 1) < seconds[best] * (shares[best] + 1)) {
        best = worker;
      }
    }
    ++shares[best];
  }
  return shares;
}

std::vector<double> Balancer::microbatch_seconds() const {
  std::vector<double> means(plan_.shares.size(), 0.0);
  for (const BalanceTick& span : spans_) {
    const std::vector<double> seconds = each_seconds(span, plan_.shares);
    for (std::size_t worker = 0; worker < means.size(); ++worker) {
      means[worker] += seconds[worker] / static_cast<double>(spans_.size());
    }
  }
  return means;
}

bool Balancer::ends_span(const BalanceTick& tick) {
  const double now = tick.unix_seconds;
  if (!span_begun_) {
    span_begun_ = now;
    return false;
  }
  open_.push_back(tick);
  if (now - *span_begun_ < plan_.span_seconds) {
    return false;
  }
  BalanceTick span{.unix_seconds = now, .work_seconds = std::vector(plan_.shares.size(), 0.0)};
  for (const BalanceTick& one : open_) {
    for (std::size_t worker = 0; worker < span.work_seconds.size(); ++worker) {
      span.work_seconds[worker] += one.work_seconds[worker] / static_cast<double>(open_.size());
    }
  }
  open_.clear();
  span_begun_ = now;
  spans_.push_back(std::move(span));
  if (spans_.size() > plan_.spans) {
    spans_.pop_front();
  }
  return true;
}

std::optional<BalanceAdvice> Balancer::look(const BalanceTick& tick, double seconds_left) {
  if (!plan_.is_on || has_advised_ || tick.work_seconds.size() != plan_.shares.size() ||
      !ends_span(tick) || spans_.size() < plan_.spans ||
      tick.unix_seconds - plan_.last_balance_unix < plan_.seconds_between) {
    return std::nullopt;
  }
  const std::vector<double> means = microbatch_seconds();
  const int microbatches = std::accumulate(plan_.shares.begin(), plan_.shares.end(), 0);
  const auto slowest = static_cast<std::size_t>(std::ranges::max_element(means) - means.begin());
  BalanceAdvice advice{.shares = best_shares(means, microbatches),
                       .slowest = WorkerIndex(static_cast<int>(slowest)),
                       .slowness = slowness_of(slowest, means)};
  advice.gain = busiest(means, plan_.shares) / busiest(means, advice.shares);
  const auto lasts = [this](const auto& gain_of) {
    return std::ranges::all_of(spans_, [&](const BalanceTick& one) {
      return gain_of(each_seconds(one, plan_.shares)) > plan_.least_gain;
    });
  };
  if (lasts([&](const std::vector<double>& seconds) {
        return busiest(seconds, plan_.shares) / busiest(seconds, advice.shares);
      })) {
    has_advised_ = seconds_left * (1.0 - 1.0 / advice.gain) > plan_.least_saved_seconds;
    return has_advised_ ? std::optional(advice) : std::nullopt;
  }
  if (microbatches < 2 * static_cast<int>(plan_.shares.size()) &&
      lasts([&](const std::vector<double>& seconds) { return slowness_of(slowest, seconds); })) {
    has_advised_ = true;
    advice.shares.clear();
    return advice;
  }
  return std::nullopt;
}

}  // namespace gangway::coordinator
