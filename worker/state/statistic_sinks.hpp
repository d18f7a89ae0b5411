// SPDX-License-Identifier: MIT
// Sinks for the statistics that passes see. Compute thread.
#pragma once

#include <utility>
#include <vector>

#include "gan/block.hpp"

namespace gangway::worker {

/// Adds up the statistics of the passes over one micro-batch, in its leaf beside the gradients.
class LeafStatistics final : public gan::StatisticSink {
 public:
  struct Sum {
    const gan::Statistic* statistic;
    at::Tensor sum;  ///< zeroed; shaped as the statistic
    int count = 0;
  };
  /// Begins a micro-batch. @param sums  of all of the network's statistics
  void open(std::vector<Sum> sums);
  void take(const gan::Statistic& statistic, const at::Tensor& value) override;
  /// Finishes the sums after the micro-batch's forwards. Makes each a sum of `harvests` values, by
  /// which the update divides. A statistic that no pass has seen keeps its running value. May be
  /// called again.
  void settle(int harvests);

 private:
  /// Adds the values taken since the last call; on a device one kernel adds all.
  void add_taken();

  std::vector<Sum> sums_;
  std::vector<at::Tensor> targets_;  // targets of taken_, each once
  std::vector<at::Tensor> taken_;
};

/// Keeps the statistics that one pass sees until the micro-batch's leaf is open.
class SeenStatistics final : public gan::StatisticSink {
 public:
  void take(const gan::Statistic& statistic, const at::Tensor& value) override {
    seen_.emplace_back(&statistic, value);
  }
  void give_to(gan::StatisticSink& sink) const {
    for (const auto& [statistic, value] : seen_) {
      sink.take(*statistic, value);
    }
  }

 private:
  std::vector<std::pair<const gan::Statistic*, at::Tensor>> seen_;
};

}  // namespace gangway::worker
