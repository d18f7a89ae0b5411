// SPDX-License-Identifier: MIT
// Scores checkpoints beside the training, one at a time, by `gangway-model evaluate` at the lowest
// priority. A score never delays a step, and a failure only prints a warning. Owned by the event
// loop and used on its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"
#include "job/evaluation.hpp"

namespace gangway::coordinator {

struct ScorerSettings {
  std::filesystem::path program;  ///< gangway-model
  std::filesystem::path run_directory;
  ScorePlace where = ScorePlace::kBeside;  ///< kSpare: waits for another program's scores
  std::chrono::seconds limit{1800};        ///< for one score
};

/// Result of scoring a checkpoint.
struct ScoringEnd {
  std::int64_t step = 0;
  std::string error;  ///< empty: the score is in the checkpoint's folder
};

class CheckpointScorer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit CheckpointScorer(ScorerSettings settings);
  /// Kills the running scorer.
  ~CheckpointScorer();
  CheckpointScorer(const CheckpointScorer&) = delete;
  CheckpointScorer& operator=(const CheckpointScorer&) = delete;

  /// Queues the checkpoint of `step` behind the one being scored. Only the newest waits if training
  /// is faster than scoring.
  /// @return the waiting step that this one replaces, if any
  std::optional<std::int64_t> want(std::int64_t step);
  /// Starts the next scorer, collects an ended one, and kills one past its limit. Never waits.
  std::optional<ScoringEnd> poll(Time now);

  [[nodiscard]] bool is_busy() const { return child_ > 0 || waiting_.has_value(); }
  /// Steps of the checkpoints that must not be removed: waiting or being scored.
  [[nodiscard]] std::set<std::int64_t> steps() const;

 private:
  /// @return why the scorer could not be started; empty: it was
  std::string start(std::int64_t step, Time now);
  ScoringEnd ended(std::string error);
  void end_child();

  ScorerSettings settings_;
  std::optional<std::int64_t> waiting_;
  std::int64_t step_ = 0;           ///< step that the child scores
  pid_t child_ = 0;                 ///< 0: none
  std::vector<pid_t> killed_ = {};  ///< killed children that waitpid() has not collected yet
  Time deadline_{};
  FileDescriptor words_;  ///< the child's standard error
};

}  // namespace gangway::coordinator
