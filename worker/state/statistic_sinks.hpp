// SPDX-License-Identifier: MIT
// What becomes of what passes see of a network's statistics. Compute thread.
#pragma once

#include <utility>
#include <vector>

#include "gan/block.hpp"

namespace gangway::worker {

/// Adds up what the passes over one micro-batch see, in its leaf beside the gradients.
class LeafStatistics final : public gan::StatisticSink {
 public:
  struct Sum {
    const gan::Statistic* statistic;
    at::Tensor sum;  ///< zeroed; shaped as the statistic
    int count = 0;
  };
  /// A micro-batch begins. @param sums  of all of the network's statistics
  void open(std::vector<Sum> sums);
  void take(const gan::Statistic& statistic, const at::Tensor& value) override;
  /// The micro-batch's forwards are over: the sums hold what was taken. Makes each sum one of
  /// `harvests` values, which is what the update divides by. What no pass has seen stays as it
  /// runs. May be called again.
  void settle(int harvests);

 private:
  /// Adds what was taken and not added yet: on a device one kernel does it for all of them.
  void add_taken();

  std::vector<Sum> sums_;
  std::vector<at::Tensor> to_;  // sums that are to be added to, each once
  std::vector<at::Tensor> taken_;
};

/// Keeps what one pass has seen until the micro-batch's leaf is open.
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
