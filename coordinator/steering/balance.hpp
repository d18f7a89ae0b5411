// SPDX-License-Identifier: MIT
// When micro-batches move from slow workers to fast ones: by what the ticks say of each worker's
// time, where that has lasted and what is left of the job is worth it. Pure; driven by the
// Conductor.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace gangway::coordinator {

struct BalancePlan {
  bool is_on = false;
  std::vector<int> shares;            ///< micro-batches of each worker, as they are
  double least_gain = 1.2;            ///< times as fast, in each of the last spans
  std::size_t spans = 5;              ///< of ticks; one busy moment is not to count
  double span_seconds = 6.0;          ///< at least, of whole ticks
  double least_saved_seconds = 50.0;  ///< until the end: ten times what a new start costs
  double seconds_between = 300.0;     ///< two balances
  double last_balance_unix = 0.0;     ///< of the run, in an earlier start
};

/// What each worker's part of a tick was to it; of several ticks the mean.
struct BalanceTick {
  double unix_seconds = 0.0;
  std::vector<double> work_seconds;  ///< of a step, without waits for others; by worker
};

struct BalanceAdvice {
  std::vector<int> shares;  ///< empty: there are too few micro-batches to help
  double gain = 1.0;        ///< times as fast
  int slowest = 0;          ///< worker
  double slowness = 1.0;    ///< its time for a micro-batch, in that of the others (their median)
};

/// The shares by which the worker that is busy longest is done soonest; of equal ones those that
/// give the first workers more.
/// @param seconds  that a micro-batch takes, by worker. @pre no more workers than micro-batches
[[nodiscard]] std::vector<int> best_shares(const std::vector<double>& seconds, int microbatches);

class Balancer {
 public:
  explicit Balancer(BalancePlan plan) : plan_(std::move(plan)) {}

  /// @param seconds_left  of the job. @return what is to be done or said, and then nothing for the
  /// rest of this start
  [[nodiscard]] std::optional<BalanceAdvice> look(const BalanceTick& tick, double seconds_left);

 private:
  /// Takes a tick in. @return whether a span is over with it
  [[nodiscard]] bool ends_span(const BalanceTick& tick);
  /// By worker, of a micro-batch, in the mean over the spans.
  [[nodiscard]] std::vector<double> microbatch_seconds() const;

  BalancePlan plan_;
  std::optional<double> span_begun_;  ///< first with the end of the first tick, which warms up
  std::vector<BalanceTick> open_;     ///< ticks of the span that is not over
  std::deque<BalanceTick> spans_;     ///< the newest
  bool has_advised_ = false;
};

}  // namespace gangway::coordinator
