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
#include "report/tick.hpp"

namespace gangway::coordinator {

struct MicrobatchLoss {
  int microbatch = 0;
  double generator = 0.0;
  double discriminator = 0.0;
};

/// A worker's wait for the exchanges of one phase.
struct PhaseExposure {
  int phase = 0;  ///< index into the job's phases
  std::string name;
  double seconds = 0.0;
  std::vector<double> by_bucket;  ///< seconds
  bool agrees = false;            ///< updates waited for the gradient's norm
};

/// A worker's newest snapshot.
struct SnapshotCost {
  std::int64_t step = -1;     ///< -1: none yet
  double seconds = 0.0;       ///< for which the lane copied it
  double wait_seconds = 0.0;  ///< for which of these an update waited
  std::uint64_t bytes = 0;
};

/// One worker's word on one step.
struct StepProgress {
  int rank = 0;
  std::int64_t step = 0;  ///< steps done
  std::vector<MicrobatchLoss> losses;
  double exposed_seconds = 0.0;
  double data_seconds = 0.0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::vector<PhaseExposure> exposures = {};  ///< what exposed_seconds consist of
  std::uint64_t unfired = 0;       ///< parameters whose phase left them without a gradient
  double check_seconds = 0.0;      ///< compute thread at the checks (layout.check_steps)
  double host_wait_seconds = 0.0;  ///< compute thread waiting in exchanges
  SnapshotCost snapshot = {};
};

struct TickPlan {
  int num_workers = 1;
  int microbatches = 1;
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
  /// A checkpoint of `step` exists.
  void checkpoint_committed(std::int64_t step) { checkpoint_step_ = step; }

  /// Takes in one worker's step. A tick comes out when it was the last worker's, of a tick's last
  /// step.
  /// @param unix_seconds wall clock, for the tick.
  /// @throws DivergedError when a loss is not finite; InvariantError when the micro-batches do not
  /// add up.
  [[nodiscard]] std::optional<report::Tick> add(const StepProgress& progress, TimePoint now,
                                                double unix_seconds);

  /// Steps done by all workers.
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  /// Median of the last steps' durations; 0 before the first.
  [[nodiscard]] double median_step_seconds() const;

 private:
  struct WorkerSeconds {
    double exposed = 0.0;
    double data = 0.0;
    double check = 0.0;
    double host_wait = 0.0;
    double snapshots = 0.0;       ///< copying them
    double snapshot_waits = 0.0;  ///< for that
    std::int64_t num_snapshots = 0;
    std::map<int, PhaseExposure> phases;  ///< what `exposed` consists of
    void add(const WorkerSeconds& more);
  };
  struct OpenStep {
    int num_workers = 0;
    std::map<int, MicrobatchLoss> losses;  ///< by micro-batch
    std::map<int, WorkerSeconds> seconds;  ///< by rank
    std::uint64_t resident_bytes = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t unfired = 0;         ///< the most that a worker had
    std::uint64_t snapshot_bytes = 0;  ///< copied by all
  };

  void close_step(std::int64_t step, const OpenStep& open, TimePoint now);
  [[nodiscard]] report::Tick close_tick(TimePoint now, double unix_seconds);
  void add_exposures(report::Tick& tick) const;
  void add_snapshots(report::Tick& tick) const;

  TickPlan plan_;
  std::map<std::int64_t, OpenStep> open_;
  std::map<int, WorkerSeconds> seconds_;  ///< of this tick, by rank
  std::deque<double> step_seconds_;       ///< of the last steps
  TimePoint started_{}, tick_started_{}, step_started_{};
  std::int64_t steps_done_;
  std::int64_t steps_in_tick_ = 0;
  std::int64_t index_;
  std::int64_t checkpoint_step_;
  double generator_sum_ = 0.0;  ///< of step means, this tick
  double discriminator_sum_ = 0.0;
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t unfired_ = 0;  ///< the most that a worker had in a step of this tick
  std::uint64_t snapshot_bytes_ = 0;
  std::map<int, std::int64_t> newest_snapshots_;  ///< that were counted, by rank
};

}  // namespace gangway::coordinator
