// SPDX-License-Identifier: MIT
// Turns the workers' progress into the figures of a tick. Adds losses by micro-batch and step, so
// the sums do not depend on the distribution of the work. Pure; driven by RunCore.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "coordinator/core/figure_accounting.hpp"
#include "report/tick.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

struct TickPlan {
  int num_workers = 1;
  int microbatches = 1;
  bool are_apart = false;  ///< networks on separate workers: each reports its part of a micro-batch
  std::vector<std::string> networks;  ///< names, in loss order
  std::int64_t images_per_step = 1;
  std::int64_t start_step = 0;
  std::int64_t total_steps = 0;
  std::int64_t tick_steps = 1;
  std::int64_t first_index = 0;      ///< of the first tick of this start
  double earlier_seconds = 0.0;      ///< duration of this job's earlier runs
  std::int64_t checkpoint_step = 0;  ///< of the checkpoint resumed from; 0: none
};

class TickAccounting {
 public:
  explicit TickAccounting(const TickPlan& plan);

  /// Starts the clock of the first tick, when the first lease is granted.
  void start(TimePoint now);
  /// Excludes a pause of length `gap` from tick and step durations.
  void forgive(std::chrono::steady_clock::duration gap);
  void set_tick_steps(std::int64_t tick_steps) { plan_.tick_steps = tick_steps; }
  /// Time at which the last step ended.
  [[nodiscard]] TimePoint step_ended() const { return step_started_; }
  /// Records that the checkpoint of `step` exists.
  void checkpoint_committed(std::int64_t step) { checkpoint_step_ = step; }

  /// Adds one worker's step. Returns a tick if this completes the tick's last step.
  /// @param unix_seconds  wall clock, for the tick
  /// @throws DivergedError when all workers have reported the step and a loss is not finite
  /// @throws InvariantError when the micro-batches do not add up
  [[nodiscard]] std::optional<report::Tick> add(Rank rank, const messages::Progress& progress,
                                                TimePoint now, double unix_seconds);

  /// Steps done by all workers.
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  /// Rank that reported the loss that was not finite; 0: none.
  [[nodiscard]] Rank diverged_rank() const { return diverged_rank_; }
  /// Mean losses of the last step, by network; bit-identical on every layout.
  [[nodiscard]] const std::vector<double>& last_losses() const { return last_losses_; }
  /// Mean figures of the last step, by name; bit-identical on every layout.
  [[nodiscard]] const std::map<std::string, double>& last_figures() const {
    return figures_.last_step();
  }
  /// Means over one worker's steps of the last tick.
  struct WorkerMeans {
    double work_seconds = 0.0;  ///< without waits for exchanges
    double wait_seconds = 0.0;
    double data_seconds = 0.0;
    double sent_bytes = 0.0;
    messages::MemoryFigures memory;
    std::optional<messages::DeviceGauges> gauges;
  };
  /// The last tick's means, by rank; empty before the first tick.
  [[nodiscard]] const std::map<Rank, WorkerMeans>& last_means() const { return last_means_; }
  /// Median duration of the last steps; 0 before the first.
  [[nodiscard]] double median_step_seconds() const;

 private:
  struct OpenStep {
    std::map<Rank, messages::Progress> told;         ///< by rank
    std::map<int, messages::MicrobatchLoss> losses;  ///< by micro-batch
  };
  /// Sums over one worker's steps in a tick. `unfired` is the maximum, `memory` and `gauges` are
  /// the last; only new snapshots count.
  struct Sum {
    messages::Progress progress;
    std::int64_t snapshots = 0;
  };

  /// @throws DivergedError if a loss is not finite @pre all workers have reported the step
  void require_finite_losses(std::int64_t step, const OpenStep& open);
  void close_step(std::int64_t step, const OpenStep& open, TimePoint now);
  void add_to_tick(Rank rank, const messages::Progress& step);
  [[nodiscard]] report::Tick close_tick(TimePoint now, double unix_seconds);
  void keep_means(double tick_seconds);
  void tell_workers(report::Tick& tick) const;
  void tell_memory(report::Tick& tick);
  void tell_exposures(report::Tick& tick) const;
  [[nodiscard]] report::WorkerParts parts_of(Rank rank, const messages::StepFigures& figures) const;
  /// The tick's duration by the worker's own clock, because reports may arrive late and in bulk.
  [[nodiscard]] double own_seconds(const report::WorkerParts& parts,
                                   const report::Tick& tick) const;

  TickPlan plan_;
  std::map<std::int64_t, OpenStep> open_;
  std::map<Rank, Sum> sums_;  ///< of this tick, by rank
  std::map<Rank, WorkerMeans> last_means_;
  std::deque<double> step_seconds_;  ///< of the last steps
  std::vector<std::string> part_names_;
  double forgiven_seconds_ = 0.0;  ///< of this tick
  TimePoint started_{}, tick_started_{}, step_started_{};
  std::int64_t steps_done_;
  std::int64_t steps_in_tick_ = 0;
  std::int64_t index_;
  std::int64_t checkpoint_step_;
  FigureAccounting figures_;
  std::vector<double> loss_sums_;  ///< sums of step means in this tick, by network
  Rank diverged_rank_;
  std::vector<double> last_losses_;                 ///< means of the last step
  std::map<Rank, std::int64_t> newest_snapshots_;   ///< newest counted snapshot, by rank
  std::map<Rank, std::uint64_t> reported_retries_;  ///< up to the last tick, by rank
};

}  // namespace gangway::coordinator
