// SPDX-License-Identifier: MIT
// Decides when to move micro-batches from slow to fast workers: when the ticks show a lasting
// difference and the rest of the job is long enough. Pure; driven by RunCore.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace gangway::coordinator {

struct BalancePlan {
  bool is_on = false;
  std::vector<int> shares;            ///< current micro-batches of each worker
  double least_gain = 1.2;            ///< least speed-up in each of the last spans
  std::size_t spans = 5;              ///< of ticks; a single busy moment must not count
  double span_seconds = 6.0;          ///< least length of a span, in whole ticks
  double least_saved_seconds = 50.0;  ///< until the end; ten times the cost of a new start
  double seconds_between = 300.0;     ///< time between two balances
  double last_balance_unix = 0.0;     ///< last balance of the run, in an earlier start
};

/// Each worker's work in a tick, or the mean over several ticks.
struct BalanceTick {
  double unix_seconds = 0.0;
  std::vector<double> work_seconds;  ///< per step, without waits for others; by worker
};

struct BalanceAdvice {
  std::vector<int> shares;  ///< empty: too few micro-batches to help
  double gain = 1.0;        ///< expected speed-up
  WorkerIndex slowest{};
  double slowness = 1.0;  ///< its time per micro-batch, relative to the others' median
};

/// Returns the shares with the shortest step; of equal ones those that give more to the first
/// workers.
/// @param seconds  per micro-batch, by worker @pre no more workers than micro-batches
[[nodiscard]] std::vector<int> best_shares(const std::vector<double>& seconds, int microbatches);

class Balancer {
 public:
  explicit Balancer(BalancePlan plan) : plan_(std::move(plan)) {}

  /// Adds a tick. @param seconds_left  of the job
  /// @return advice at most once in a start
  [[nodiscard]] std::optional<BalanceAdvice> look(const BalanceTick& tick, double seconds_left);

 private:
  /// Adds a tick to the open span. @return whether the tick ends the span
  [[nodiscard]] bool ends_span(const BalanceTick& tick);
  /// Returns the seconds per micro-batch by worker, means over the spans.
  [[nodiscard]] std::vector<double> microbatch_seconds() const;

  BalancePlan plan_;
  std::optional<double> span_begun_;  ///< not before the first tick, which warms up, ends
  std::vector<BalanceTick> open_;     ///< ticks of the open span
  std::deque<BalanceTick> spans_;     ///< the newest finished spans
  bool has_advised_ = false;
};

}  // namespace gangway::coordinator
