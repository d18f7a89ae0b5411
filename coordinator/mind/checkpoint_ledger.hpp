// SPDX-License-Identifier: MIT
// Which checkpoints are under way, and when one is complete: every worker's part of one step under
// one epoch. A failed save costs nothing but itself; several in a row are said loudly. Pure; driven
// by the Conductor, which commits.
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

/// All parts of one step have come in.
struct CompleteCheckpoint {
  std::int64_t step = 0;
  std::vector<messages::CheckpointPart> parts;  ///< by worker
  std::string error;  ///< not empty: it cannot be committed, and why (first worker's word)
  [[nodiscard]] double bytes() const;
  /// From the whole snapshot to the synced file, of the slowest worker.
  [[nodiscard]] double seconds() const;
};

class CheckpointLedger {
 public:
  /// Failed saves in a row from which on the warnings are loud.
  static constexpr int kLoudFailures = 3;

  explicit CheckpointLedger(int num_workers) : num_workers_(num_workers) {}

  /// A lease that saves at `step` was granted under `epoch`.
  void begin(std::int64_t step, std::int64_t epoch);
  /// A worker's word on its file. One that was not asked for, or of another epoch, is dropped.
  [[nodiscard]] std::optional<CompleteCheckpoint> add(int worker, std::int64_t epoch,
                                                      messages::CheckpointPart part);

  void committed(std::int64_t step);
  /// @return the line that a person is to read.
  [[nodiscard]] std::string failed(std::int64_t step, const std::string& reason);

  /// What takes too long: a disk that is slow or hangs. Each checkpoint is named once its step has
  /// been done by all for `patience`, and again each time that it has taken twice as long.
  /// @param slowest_done  steps done by the worker that is furthest behind
  /// @return the line that a person is to read
  [[nodiscard]] std::optional<std::string> overdue(TimePoint now, std::int64_t slowest_done,
                                                   std::chrono::milliseconds patience);

  [[nodiscard]] bool idle() const { return open_.empty(); }
  /// Whether one of a step before `end` is under way.
  [[nodiscard]] bool is_open_before(std::int64_t end) const;
  /// Whether a file of this worker (0..W-1), of a step before `end`, is still to come.
  [[nodiscard]] bool owes(int worker,
                          std::int64_t end = std::numeric_limits<std::int64_t>::max()) const;
  /// Whether all files of a checkpoint have come, and its manifest has not.
  [[nodiscard]] bool is_committing() const;
  [[nodiscard]] int failures() const { return failures_; }
  [[nodiscard]] int failures_in_a_row() const { return failures_in_a_row_; }
  /// Step of the newest committed checkpoint of this run, if there is one.
  [[nodiscard]] std::optional<std::int64_t> last_committed() const { return last_committed_; }

 private:
  struct Open {
    std::int64_t epoch = 0;
    std::map<int, messages::CheckpointPart> parts;  ///< by worker
    bool is_complete = false;                       ///< all parts have been handed out
    std::optional<TimePoint> since;                 ///< when its step was seen to be done by all
    std::chrono::milliseconds told{0};  ///< how long it had taken when that was last said
  };
  [[nodiscard]] std::string missing(const Open& open) const;

  int num_workers_;
  std::map<std::int64_t, Open> open_;
  std::optional<std::int64_t> last_committed_;
  int failures_ = 0;
  int failures_in_a_row_ = 0;
};

}  // namespace gangway::coordinator
