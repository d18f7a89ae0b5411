// SPDX-License-Identifier: MIT
#include "worker/state/statistic_sinks.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace gangway::worker {

void LeafStatistics::open(std::vector<Sum> sums) {
  targets_.clear();
  taken_.clear();
  sums_ = std::move(sums);
}

void LeafStatistics::take(const gan::Statistic& statistic, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  const auto found = std::ranges::find(sums_, &statistic, &Sum::statistic);
  if (found == sums_.end()) {
    throw InvariantError("a pass harvests " + statistic.name + ", which its network does not have");
  }
  ++found->count;
  const auto is_its = [&](const at::Tensor& sum) { return sum.is_same(found->sum); };
  if (std::ranges::any_of(targets_, is_its)) {
    add_taken();
  }
  targets_.push_back(found->sum);
  if (statistic.momentum == kStatisticMomentum) {
    taken_.push_back(value);
    return;
  }
  // The update uses one momentum for all statistics, so a different one is applied here by scaling,
  // up to one rounding.
  const double factor = statistic.momentum / kStatisticMomentum;
  taken_.push_back(statistic.running + (value - statistic.running) * factor);
}

void LeafStatistics::add_taken() {
  if (!targets_.empty()) {
    at::_foreach_add_(targets_, taken_);
    targets_.clear();
    taken_.clear();
  }
}

void LeafStatistics::settle(int harvests) {
  const at::NoGradGuard no_grad;
  add_taken();
  for (Sum& each : sums_) {
    if (harvests == 0 || each.count == harvests) {
      continue;
    }
    if (each.count == 0) {
      each.sum.copy_(each.statistic->running * harvests);
    } else {
      each.sum.mul_(static_cast<double>(harvests) / each.count);
    }
    each.count = harvests;
  }
}

}  // namespace gangway::worker
