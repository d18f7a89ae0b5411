// SPDX-License-Identifier: MIT
// When workers take snapshots, and which one all of them have. The interval follows from what a
// snapshot costs, so that all of them together cost half a percent of the time at most; where the
// run has lost processes, from how often it did as well. Pure; driven by the Conductor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numbers/standings.hpp"

namespace gangway::coordinator {

/// What the intervals follow from.
struct SnapshotPace {
  static constexpr std::int64_t kAuto = -1;

  std::int64_t every = kAuto;  ///< steps from one to the next; 0: none; kAuto: by their cost
  double most_cost = 0.02;     ///< share of the time, once there were losses
  int losses = 0;              ///< that ended earlier starts of the run
  double watched_seconds = 0;  ///< for which those ran
};

class SnapshotBook {
 public:
  /// Share of the time that snapshots may take where nothing was lost yet.
  static constexpr double kMostOverhead = 0.005;
  /// Steps to the first one, whose cost is not known yet.
  static constexpr std::int64_t kFirstSteps = 10;

  SnapshotBook(int num_workers, std::int64_t start_step, const SnapshotPace& pace);

  /// As the constructor has it.
  void set_every(std::int64_t every) { pace_.every = every; }
  /// @param median_seconds  duration of a step. @param running_seconds  for which this start trains
  void set_step_seconds(double median_seconds, double running_seconds) {
    step_seconds_ = median_seconds;
    running_seconds_ = running_seconds;
  }
  /// Whether buddies copy what due() names: it is complete when all of them have it, and the next
  /// is due after that.
  void set_buddies(bool has_buddies) { has_buddies_ = has_buddies; }
  /// A worker's newest whole snapshot and what it cost; a step of an earlier start counts for none.
  void taken(int worker, std::optional<std::int64_t> step, double seconds);
  /// The newest of a worker's snapshots that its buddy holds, and the newest of which it is known
  /// whether it will.
  void copied(int worker, std::optional<std::int64_t> step, std::optional<std::int64_t> tried);
  /// The steps in (begin, end] after which one is to be taken. Each is said once.
  /// @param saves  whether one is taken after `end` in any case, for a checkpoint
  [[nodiscard]] std::vector<std::int64_t> due(std::int64_t begin, std::int64_t end, bool saves);
  /// The newest step at which every worker has one, and its buddy a copy.
  [[nodiscard]] std::optional<std::int64_t> complete() const { return complete_; }
  /// Steps from one to the next; 0: none are taken. After losses Young's optimum, the square root
  /// of twice the cost times the mean time between losses (J. W. Young, A first order approximation
  /// to the optimum checkpoint interval, CACM 17(9), 1974), where that is shorter, and the cost
  /// allows it.
  [[nodiscard]] std::int64_t interval() const;
  /// One line about an interval that follows from losses, once, when the first snapshot's cost is
  /// known; empty: there is nothing to say.
  [[nodiscard]] std::string news();

 private:
  /// Seconds from one loss to the next. @pre there were some
  [[nodiscard]] double seconds_between_losses() const;
  /// The newest of each worker, where it has one: nothing is less than any step.
  using Newest = Standings<std::optional<std::int64_t>>;
  void complete(const Newest& newest);

  std::int64_t start_step_;
  SnapshotPace pace_;
  bool has_buddies_ = false;
  Newest newest_;
  Newest copied_;
  Newest tried_;
  std::optional<std::int64_t> complete_;
  std::int64_t last_ = 0;                // newest that was asked for
  std::optional<std::int64_t> copying_;  // newest that buddies were to copy
  double step_seconds_ = 0.0;
  double running_seconds_ = 0.0;
  bool is_told_ = false;
  double cost_ = 0.0;  // seconds, of the slowest worker
};

}  // namespace gangway::coordinator
