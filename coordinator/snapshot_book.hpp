// SPDX-License-Identifier: MIT
// When workers take snapshots, and which one all of them have. The interval follows from what a
// snapshot costs, so that all of them together cost half a percent of the time at most. Pure; driven
// by the Conductor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gangway::coordinator {

class SnapshotBook {
 public:
  /// Share of the time that snapshots may take.
  static constexpr double kMostOverhead = 0.005;
  /// Steps to the first one, whose cost is not known yet.
  static constexpr std::int64_t kFirstSteps = 10;
  static constexpr std::int64_t kAuto = -1;

  /// @param every  steps from one to the next; 0: none; kAuto: by their cost
  SnapshotBook(int num_workers, std::int64_t start_step, std::int64_t every);

  /// @param median_seconds  duration of a step
  void set_step_seconds(double median_seconds) { step_seconds_ = median_seconds; }
  /// A worker's newest whole snapshot and what it cost; a step of an earlier start counts for none.
  void taken(int worker, std::int64_t step, double seconds);
  /// The steps in (begin, end] after which one is to be taken. Each is said once.
  /// @param saves  whether one is taken after `end` in any case, for a checkpoint
  [[nodiscard]] std::vector<std::int64_t> due(std::int64_t begin, std::int64_t end, bool saves);
  /// The newest step at which every worker has one; -1: none.
  [[nodiscard]] std::int64_t complete() const { return complete_; }
  /// Steps from one to the next; 0: none are taken.
  [[nodiscard]] std::int64_t interval() const;

 private:
  std::int64_t start_step_;
  std::int64_t every_;
  std::vector<std::int64_t> newest_;  // by worker
  std::int64_t complete_ = -1;
  std::int64_t last_ = 0;  // newest that was asked for
  double step_seconds_ = 0.0;
  double cost_ = 0.0;  // seconds, of the slowest worker
};

}  // namespace gangway::coordinator
