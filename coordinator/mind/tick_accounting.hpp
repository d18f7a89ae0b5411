// SPDX-License-Identifier: MIT
// Turns the workers' progress into the figures of a tick. Losses are added micro-batch by
// micro-batch and step by step, so that they do not depend on who computed what. Pure; driven by
// the Conductor.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "coordinator/mind/figure_accounting.hpp"
#include "report/tick.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

struct TickPlan {
  int num_workers = 1;
  int microbatches = 1;
  bool are_apart = false;  ///< networks: several workers tell of a micro-batch, each its part
  std::vector<std::string> networks;  ///< names, in the order of their losses
  std::int64_t images_per_step = 1;
  std::int64_t start_step = 0;
  std::int64_t total_steps = 0;
  std::int64_t tick_steps = 1;
  std::int64_t first_index = 0;      ///< index of the first tick to come
  double earlier_seconds = 0.0;      ///< of earlier runs of this job
  std::int64_t checkpoint_step = 0;  ///< of the checkpoint resumed from; 0: none
};

class TickAccounting {
 public:
  explicit TickAccounting(const TickPlan& plan);

  /// The clock of the first tick starts: the first lease is out.
  void start(TimePoint now);
  /// Nothing was trained for `gap`: no tick and no step counts it.
  void forgive(std::chrono::steady_clock::duration gap);
  void set_tick_steps(std::int64_t tick_steps) { plan_.tick_steps = tick_steps; }
  /// When the last step was over.
  [[nodiscard]] TimePoint step_ended() const { return step_started_; }
  /// A checkpoint of `step` exists.
  void checkpoint_committed(std::int64_t step) { checkpoint_step_ = step; }

  /// Takes in one worker's step. A tick comes out when it was the last worker's, of a tick's last
  /// step.
  /// @param unix_seconds wall clock, for the tick.
  /// @throws DivergedError when all have told the step and a loss is not finite; InvariantError
  /// when the micro-batches do not add up.
  [[nodiscard]] std::optional<report::Tick> add(int rank, const messages::Progress& progress,
                                                TimePoint now, double unix_seconds);

  /// Steps done by all workers.
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  /// Who has told the loss that was not finite; 0: nobody has.
  [[nodiscard]] int diverged_rank() const { return diverged_rank_; }
  /// Means over the last of them, by network; the same bits on any layout.
  [[nodiscard]] const std::vector<double>& last_losses() const { return last_losses_; }
  /// The same of figures, by name.
  [[nodiscard]] const std::map<std::string, double>& last_figures() const {
    return figures_.last_step();
  }
  /// What one worker's steps of the last tick were to it, means.
  struct WorkerMeans {
    double work_seconds = 0.0;  ///< without its waits for exchanges
    double wait_seconds = 0.0;
    double data_seconds = 0.0;
    double sent_bytes = 0.0;
    messages::MemoryFigures memory;
    std::optional<messages::DeviceGauges> gauges;
  };
  /// By rank; empty before the first tick.
  [[nodiscard]] const std::map<int, WorkerMeans>& last_means() const { return last_means_; }
  /// Median of the last steps' durations; 0 before the first.
  [[nodiscard]] double median_step_seconds() const;

 private:
  struct OpenStep {
    std::map<int, messages::Progress> told;          ///< by rank
    std::map<int, messages::MicrobatchLoss> losses;  ///< by micro-batch
  };
  /// The steps of a tick of one worker: what can be is added up; `unfired` is the most of a step,
  /// `memory` and `gauges` the last; of snapshots those count that are new.
  struct Sum {
    messages::Progress progress;
    std::int64_t snapshots = 0;
  };

  /// Throws where there are other than one loss a network.
  void require_losses(const messages::MicrobatchLoss& loss, int rank) const;
  /// Throws where one is not finite. @pre all have told theirs
  void require_finite_losses(std::int64_t step, const OpenStep& open);
  void close_step(std::int64_t step, const OpenStep& open, TimePoint now);
  void add_to_tick(int rank, const messages::Progress& step);
  [[nodiscard]] report::Tick close_tick(TimePoint now, double unix_seconds);
  void keep_means(double tick_seconds);
  void tell_workers(report::Tick& tick) const;
  void tell_memory(report::Tick& tick);
  void tell_exposures(report::Tick& tick) const;
  [[nodiscard]] report::WorkerParts parts_of(int rank, const messages::StepFigures& figures) const;
  /// Of the tick, by the worker's own clock: reports may come late, and then many at once.
  [[nodiscard]] double own_seconds(const report::WorkerParts& parts,
                                   const report::Tick& tick) const;

  TickPlan plan_;
  std::map<std::int64_t, OpenStep> open_;
  std::map<int, Sum> sums_;  ///< of this tick, by rank
  std::map<int, WorkerMeans> last_means_;
  std::deque<double> step_seconds_;  ///< of the last steps
  std::vector<std::string> part_names_;
  double forgiven_seconds_ = 0.0;  ///< of this tick
  TimePoint started_{}, tick_started_{}, step_started_{};
  std::int64_t steps_done_;
  std::int64_t steps_in_tick_ = 0;
  std::int64_t index_;
  std::int64_t checkpoint_step_;
  FigureAccounting figures_;
  std::vector<double> loss_sums_;  ///< of step means, this tick; by network
  int diverged_rank_ = 0;
  std::vector<double> last_losses_;               ///< means of the last step
  std::map<int, std::int64_t> newest_snapshots_;  ///< that were counted, by rank
  std::map<int, std::uint64_t> told_retries_;     ///< of allocators, up to the last tick; by rank
};

}  // namespace gangway::coordinator
