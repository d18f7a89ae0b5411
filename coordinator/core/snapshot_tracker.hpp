// SPDX-License-Identifier: MIT
// Decides when workers take snapshots, and tracks the newest that all workers have. The interval
// follows from a snapshot's cost (at most 0.5 % of the time); after losses also from their rate.
// Pure; driven by RunCore.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/numbers/min_max_tracker.hpp"

namespace gangway::coordinator {

/// Inputs of the snapshot interval.
struct SnapshotPace {
  static constexpr std::int64_t kAuto = -1;

  std::int64_t every = kAuto;  ///< interval in steps; 0: none; kAuto: by cost
  double most_cost = 0.02;     ///< maximum share of the time after losses
  int losses = 0;              ///< process losses that ended earlier starts of the run
  double watched_seconds = 0;  ///< training time of the earlier starts
};

class SnapshotTracker {
 public:
  /// Maximum share of the time for snapshots before any loss.
  static constexpr double kMostOverhead = 0.005;
  /// Steps to the first snapshot, whose cost is not known yet.
  static constexpr std::int64_t kFirstSteps = 10;

  SnapshotTracker(int num_workers, std::int64_t start_step, const SnapshotPace& pace);

  /// Sets SnapshotPace::every.
  void set_every(std::int64_t every) { pace_.every = every; }
  /// @param median_seconds  duration of a step @param running_seconds  training time of this start
  void set_step_seconds(double median_seconds, double running_seconds) {
    step_seconds_ = median_seconds;
    running_seconds_ = running_seconds;
  }
  /// Sets whether buddies copy the snapshots of due(). If so, a snapshot is complete when all
  /// buddies have their copies, and the next is due only after that.
  void set_buddies(bool has_buddies) { has_buddies_ = has_buddies; }
  /// Records a worker's newest complete snapshot and its cost; ignores steps of earlier starts.
  void taken(WorkerIndex worker, std::optional<std::int64_t> step, double seconds);
  /// Records a worker's newest snapshot that its buddy holds (`step`), and the newest whose copy
  /// has succeeded or failed (`tried`).
  void copied(WorkerIndex worker, std::optional<std::int64_t> step,
              std::optional<std::int64_t> tried);
  /// Returns the steps in (begin, end] after which to take a snapshot, each only once.
  /// @param saves  whether a checkpoint takes a snapshot after `end` anyway
  [[nodiscard]] std::vector<std::int64_t> due(std::int64_t begin, std::int64_t end, bool saves);
  /// Newest step whose snapshot every worker has, and every buddy a copy of it.
  [[nodiscard]] std::optional<std::int64_t> complete() const { return complete_; }
  /// Returns the interval in steps; 0: no snapshots. After losses, uses Young's optimum if it is
  /// shorter and the cost allows it: the square root of twice the cost times the mean time between
  /// losses (J. W. Young, A first order approximation to the optimum checkpoint interval, CACM
  /// 17(9), 1974).
  [[nodiscard]] std::int64_t interval() const;
  /// Returns one line about an interval that follows from losses, once the first snapshot's cost is
  /// known; empty: nothing to report.
  [[nodiscard]] std::string news();

 private:
  /// Mean time between losses. @pre there was a loss
  [[nodiscard]] double seconds_between_losses() const;
  /// Newest step of each worker, if any; nullopt is less than any step.
  using Newest = MinMaxTracker<std::optional<std::int64_t>>;
  void complete(const Newest& newest);

  std::int64_t start_step_;
  SnapshotPace pace_;
  bool has_buddies_ = false;
  Newest newest_;
  Newest copied_;
  Newest tried_;
  std::optional<std::int64_t> complete_;
  std::int64_t last_ = 0;                // newest step that due() returned
  std::optional<std::int64_t> copying_;  // newest step that buddies were to copy
  double step_seconds_ = 0.0;
  double running_seconds_ = 0.0;
  bool is_reported_ = false;
  double cost_ = 0.0;  // seconds, of the slowest worker
};

}  // namespace gangway::coordinator
