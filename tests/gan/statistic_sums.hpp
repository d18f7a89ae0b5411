// SPDX-License-Identifier: MIT
// A sink for tests that sums the values which networks add to their statistics.
#pragma once

#include <map>

#include "gan/block.hpp"

namespace gangway::gan {

class StatisticSums final : public StatisticSink {
 public:
  void take(const Statistic& statistic, const at::Tensor& value) override {
    const auto [found, is_new] = sums_.try_emplace(&statistic, value.detach().clone());
    if (!is_new) {
      found->second += value.detach();
    }
  }
  /// Returns the sum; zeros if there were no values.
  [[nodiscard]] at::Tensor of(const Statistic& statistic) const {
    const auto found = sums_.find(&statistic);
    return found == sums_.end() ? at::zeros_like(statistic.running) : found->second;
  }

 private:
  std::map<const Statistic*, at::Tensor> sums_;
};

}  // namespace gangway::gan
