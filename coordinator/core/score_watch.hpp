// SPDX-License-Identifier: MIT
// Lowers learning rates, or ends the job early, when scores stop improving. Only checkpoints at the
// job's own steps count: evaluation.every_kimg, or if that is 0 checkpoint.every_kimg and
// every_steps. Training waits for a score at the next such step, so decisions do not depend on
// speed. Scores are recorded, and decisions follow from the records alone, so a resumed or repeated
// start decides alike. Pure; driven by RunCore.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "job/decisions.hpp"
#include "job/divergence.hpp"
#include "job/spec.hpp"

namespace gangway::coordinator {

struct ScorePlan {
  PlateauSpec plateau;
  int early_stop = 0;                              ///< patience in scores; 0: never
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< intervals of the scored checkpoints
  std::int64_t total_steps = 0;                    ///< of the job

  /// Whether scores can change anything.
  [[nodiscard]] bool is_any() const { return early_stop > 0 || plateau.patience > 0; }
  /// Whether the score of a checkpoint of `step` counts.
  [[nodiscard]] bool counts(std::int64_t step) const;
  /// Returns the first step above `step` whose checkpoint counts, or the job's last step.
  [[nodiscard]] std::int64_t next(std::int64_t step) const;
  /// Returns the last step below `step` whose checkpoint counts; 0: none.
  [[nodiscard]] std::int64_t last_before(std::int64_t step) const;
};

[[nodiscard]] ScorePlan score_plan(const JobSpec& job);

/// Result of scoring a checkpoint.
struct ScoreFound {
  std::int64_t step = 0;
  std::optional<double> value;  ///< lower is better; nothing: no score, does not count
  std::string shown = {};       ///< text for the user: "FD-LeNet 3.2"
};

class ScoreWatch {
 public:
  explicit ScoreWatch(const ScorePlan& plan) : plan_(plan) {}

  /// Returns the new decisions, beginning with the score itself. Returns none for a step that does
  /// not count, or that has a score already.
  /// @param start  number of this start of the run
  [[nodiscard]] Decisions found(const Decisions& earlier, const ScoreFound& score,
                                std::int64_t start) const;

  /// Returns the step at which training waits for the next score; nothing: no such step.
  /// @param begin  steps done when the start began
  [[nodiscard]] std::optional<std::int64_t> gate(const Decisions& decisions,
                                                 std::int64_t begin) const;

  /// Returns the steps of earlier starts' checkpoints that still need a score.
  [[nodiscard]] std::vector<std::int64_t> unscored_steps(const Decisions& decisions,
                                                         std::int64_t begin) const;
  /// Returns the first of unscored_steps(), if any.
  [[nodiscard]] std::optional<std::int64_t> unscored(const Decisions& decisions,
                                                     std::int64_t begin) const;

 private:
  ScorePlan plan_;
};

}  // namespace gangway::coordinator
