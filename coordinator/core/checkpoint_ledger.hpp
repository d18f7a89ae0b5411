// SPDX-License-Identifier: MIT
// Tracks the checkpoints under way; a checkpoint is complete when every worker's part of its step
// has arrived under the same epoch. A failed save does not end the run; several in a row raise a
// loud warning. Pure; driven by RunCore, which commits.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

/// A checkpoint whose parts have all arrived.
struct CompleteCheckpoint {
  std::int64_t step = 0;
  std::vector<messages::CheckpointPart> parts;  ///< by worker
  std::string error;  ///< not empty: why it cannot be committed (first worker's reason)
  [[nodiscard]] double bytes() const;
  /// Returns the slowest worker's time from the complete snapshot to the synced file.
  [[nodiscard]] double seconds() const;
};

class CheckpointLedger {
 public:
  /// Number of failed saves in a row from which the warnings are loud.
  static constexpr int kLoudFailures = 3;

  explicit CheckpointLedger(int num_workers) : num_workers_(num_workers) {}

  /// Opens the checkpoint of a lease that saves at `step` under `epoch`.
  void begin(std::int64_t step, std::int64_t epoch);
  /// Adds a worker's report on its file. Ignores a part of an unknown step or another epoch.
  [[nodiscard]] std::optional<CompleteCheckpoint> add(WorkerIndex worker, std::int64_t epoch,
                                                      messages::CheckpointPart part);

  void committed(std::int64_t step);
  /// Records a failed save. @return the warning to print for the user
  [[nodiscard]] std::string failed(std::int64_t step, const std::string& reason);

  /// Reports checkpoints that a slow or hanging disk delays: first when all workers have finished
  /// the step `patience` ago, then each time the duration has doubled.
  /// @param slowest_done  steps done by the slowest worker
  /// @return the warning to print for the user
  [[nodiscard]] std::optional<std::string> overdue(TimePoint now, std::int64_t slowest_done,
                                                   std::chrono::milliseconds patience);

  [[nodiscard]] bool idle() const { return open_.empty(); }
  /// Whether a checkpoint of a step before `end` is under way.
  [[nodiscard]] bool is_open_before(std::int64_t end) const;
  /// Whether this worker still has to write a file for a step before `end`.
  [[nodiscard]] bool owes(WorkerIndex worker,
                          std::int64_t end = std::numeric_limits<std::int64_t>::max()) const;
  /// Whether a checkpoint has all its files but no manifest yet.
  [[nodiscard]] bool is_committing() const;
  /// Why the newest save failed; empty: it did not.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] int failures_in_a_row() const { return failures_in_a_row_; }
  /// Step of the newest committed checkpoint of this run, if there is one.
  [[nodiscard]] std::optional<std::int64_t> last_committed() const { return last_committed_; }

 private:
  struct Open {
    std::int64_t epoch = 0;
    std::map<WorkerIndex, messages::CheckpointPart> parts;
    bool is_complete = false;           ///< add() has returned it
    std::optional<TimePoint> since;     ///< when all workers had done its step
    std::chrono::milliseconds told{0};  ///< its duration at the last warning
  };
  [[nodiscard]] std::string missing(const Open& open) const;

  int num_workers_;
  std::map<std::int64_t, Open> open_;
  std::optional<std::int64_t> last_committed_;
  std::string error_;
  int failures_ = 0;
  int failures_in_a_row_ = 0;
};

}  // namespace gangway::coordinator
