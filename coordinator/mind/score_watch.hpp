// SPDX-License-Identifier: MIT
// Lower learning rates, and an early end, where scores do not become better. Only checkpoints at
// the job's own steps (evaluation.every_kimg, or where that is 0 checkpoint.every_kimg and
// every_steps) count, and what follows of a score holds from the next such step on, where training
// waits for it: so it does not depend on how fast anything is. What was scored is itself recorded,
// and all follows of these records, so that a start that goes on, or repeats, decides alike. Pure;
// driven by the Conductor.
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
  int early_stop = 0;                              ///< patience; 0: none
  std::array<std::int64_t, 3> checkpoint_steps{};  ///< at which checkpoints are scored
  std::int64_t total_steps = 0;                    ///< the job's

  /// Whether anything follows of scores.
  [[nodiscard]] bool is_any() const { return early_stop > 0 || plateau.patience > 0; }
  /// Whether the score of a checkpoint of `step` counts.
  [[nodiscard]] bool counts(std::int64_t step) const;
  /// The first step above `step` whose checkpoint counts, or the end.
  [[nodiscard]] std::int64_t next(std::int64_t step) const;
  /// The last one below `step`; 0: none.
  [[nodiscard]] std::int64_t last_before(std::int64_t step) const;
};

[[nodiscard]] ScorePlan score_plan(const JobSpec& job);

/// What has become of a checkpoint that was to be scored.
struct ScoreFound {
  std::int64_t step = 0;
  std::optional<double> value;  ///< lower is better; nothing: there is none, and it does not count
  std::string shown = {};       ///< as people know it: "FD-LeNet 3.2"
};

class ScoreWatch {
 public:
  explicit ScoreWatch(const ScorePlan& plan) : plan_(plan) {}

  /// The decisions that follow, beginning with what was found. None for a step that does not count,
  /// or whose score is there already.
  /// @param start  number of this start of the run
  [[nodiscard]] Decisions found(const Decisions& earlier, const ScoreFound& score,
                                std::int64_t start) const;

  /// The step from which nothing is trained before another score is there; nothing: there is no
  /// such step. @param begin  steps done when the start began
  [[nodiscard]] std::optional<std::int64_t> gate(const Decisions& decisions,
                                                 std::int64_t begin) const;

  /// Checkpoints of earlier starts that are to be scored: those starts have not come to it.
  [[nodiscard]] std::vector<std::int64_t> unscored_steps(const Decisions& decisions,
                                                         std::int64_t begin) const;
  /// The first of them.
  [[nodiscard]] std::optional<std::int64_t> unscored(const Decisions& decisions,
                                                     std::int64_t begin) const;

 private:
  ScorePlan plan_;
};

}  // namespace gangway::coordinator
