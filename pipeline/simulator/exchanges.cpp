// SPDX-License-Identifier: MIT
#include "pipeline/simulator/exchanges.hpp"

#include <algorithm>
#include <cstddef>

namespace gangway::pipeline {

Exchanges::Exchanges(const StageSchedule& schedule, const Costs& costs)
    : costs_(costs), lanes_(schedule.workers.size()) {
  for (const StageList& list : schedule.workers) {
    for (const StageInstruction& what : list) {
      if (what.operation != StageOperation::kReduce) {
        continue;
      }
      const auto [found, is_new] = index_of_.try_emplace({what.network, what.chunk, what.version},
                                                         static_cast<int>(exchanges_.size()));
      if (is_new) {
        exchanges_.push_back({.network = what.network, .chunk = what.chunk, .step = what.step});
        exchanges_.back().ready.resize(buckets_of(exchanges_.back()).size());
      }
      ++exchanges_[static_cast<std::size_t>(found->second)].num_members;
    }
  }
}

std::span<const BucketCosts> Exchanges::buckets_of(const Exchange& exchange) const {
  return costs_.buckets.size() == 0
             ? std::span<const BucketCosts>()
             : costs_.buckets[exchange.network][static_cast<std::size_t>(exchange.chunk)];
}

bool Exchanges::can_end(int index) const {
  const Exchange& exchange = exchanges_[static_cast<std::size_t>(index)];
  return static_cast<int>(exchange.members.size()) == exchange.num_members &&
         std::ranges::all_of(exchange.members, [&](int worker) {
           return lanes_[static_cast<std::size_t>(worker)].queue.front() == index;
         });
}

void Exchanges::end(Exchange& exchange) {
  double now = 0.0;
  for (const int worker : exchange.members) {
    now = std::max(now, lanes_[static_cast<std::size_t>(worker)].free_at);
  }
  double seconds = 0.0;
  const std::span<const BucketCosts> buckets = buckets_of(exchange);
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    now = std::max(now, exchange.ready[bucket]) + buckets[bucket].seconds;
    seconds += buckets[bucket].seconds;
  }
  exchange.ended = buckets.empty() ? exchange.complete : std::max(now, exchange.complete);
  for (const int worker : exchange.members) {
    Lane& lane = lanes_[static_cast<std::size_t>(worker)];
    lane.queue.pop_front();
    lane.free_at = std::max(lane.free_at, now);
    lane.seconds += seconds;
  }
}

std::vector<int> Exchanges::reduce(int worker, const StageInstruction& what, double now,
                                   const std::optional<ArmedWork>& armed) {
  const int index = index_of_.at({what.network, what.chunk, what.version});
  Exchange& exchange = exchanges_[static_cast<std::size_t>(index)];
  const std::span<const BucketCosts> buckets = buckets_of(exchange);
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    const double ready = armed ? armed->begin + buckets[bucket].ready * armed->seconds : now;
    exchange.ready[bucket] = std::max(exchange.ready[bucket], ready);
  }
  exchange.complete = std::max(exchange.complete, now);
  exchange.members.push_back(worker);
  lanes_[static_cast<std::size_t>(worker)].queue.push_back(index);
  std::vector<int> woken;
  std::vector<int> candidates{index};
  while (!candidates.empty()) {
    const int next = candidates.back();
    candidates.pop_back();
    Exchange& one = exchanges_[static_cast<std::size_t>(next)];
    if (one.ended || !can_end(next)) {
      continue;
    }
    end(one);
    woken.insert(woken.end(), one.waiting.begin(), one.waiting.end());
    for (const int member : one.members) {
      const Lane& lane = lanes_[static_cast<std::size_t>(member)];
      if (!lane.queue.empty()) {
        candidates.push_back(lane.queue.front());
      }
    }
  }
  return woken;
}

std::optional<double> Exchanges::end_of(int worker, const StageInstruction& await) {
  const auto found = index_of_.find({await.network, await.chunk, await.version - 1});
  if (found == index_of_.end()) {
    return 0.0;  // of an update before the first step
  }
  Exchange& exchange = exchanges_[static_cast<std::size_t>(found->second)];
  if (!exchange.ended) {
    exchange.waiting.push_back(worker);
  }
  return exchange.ended;
}

std::vector<double> Exchanges::step_ends(int first_step) const {
  std::vector<double> ends;
  for (const Exchange& exchange : exchanges_) {
    const auto step = static_cast<std::size_t>(exchange.step - first_step);
    ends.resize(std::max(ends.size(), step + 1), 0.0);
    ends[step] = std::max(ends[step], exchange.ended.value_or(0.0));
  }
  return ends;
}

}  // namespace gangway::pipeline
