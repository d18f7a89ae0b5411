// SPDX-License-Identifier: MIT
// Decisions taken while a job trains, and the settings of each step that follow from them. A step's
// settings depend only on job, decisions and step. So a repeated step has the same numbers: on
// another layout, after a kill, from an older checkpoint. Files: run/decision_file.hpp. Used by
// coordinator and workers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

enum class DecisionKind {
  kBranch,     ///< the run began with another run's checkpoint: no rollback goes behind it
  kRollback,   ///< training was in trouble: it resumed from an earlier step
  kScore,      ///< a checkpoint got its score; the next two kinds follow from scores
  kPlateau,    ///< scores no longer improve: learning rates drop
  kEarlyStop,  ///< scores no longer improve: the run ends
};

/// Returns whether the decision follows from scores, which arrive when they are ready.
[[nodiscard]] constexpr bool follows_from_scores(DecisionKind kind) {
  return kind == DecisionKind::kScore || kind == DecisionKind::kPlateau ||
         kind == DecisionKind::kEarlyStop;
}

/// Returns the name in decision files: "rollback".
[[nodiscard]] std::string_view name_of(DecisionKind kind);
[[nodiscard]] std::optional<DecisionKind> decision_kind(std::string_view name);

/// Settings from `step` on: the step that is trained when `step` steps are done, and all later
/// steps.
struct SettingsChange {
  std::int64_t step = 0;
  double lr_factor = 1.0;  ///< factor on the learning rates of all networks
  int reseed = 0;          ///< random keys use the seed of this retry; 0: no change
  bool operator==(const SettingsChange&) const = default;
};

struct Decision {
  DecisionKind kind = DecisionKind::kRollback;
  SettingsChange change;  ///< holds from `change.step` on
  std::string why;        ///< one line
  std::int64_t seen = 0;  ///< steps done when the reason arose
  /// Number of the run's start that took the decision or began with a branch. 0: a start of the
  /// other run, from which this run branched.
  std::int64_t start = 0;
  std::optional<double> score;  ///< of kScore; nothing: no score was possible
  bool operator==(const Decision&) const = default;
};

using Decisions = std::vector<Decision>;

/// The settings of one step.
struct StepSettings {
  double lr_factor = 1.0;
  std::uint64_t seed = 0;  ///< of random keys; the order of the data uses the job's seed
  bool operator==(const StepSettings&) const = default;
};

/// @param seed  the job's seed
/// @param step  steps done before this one
[[nodiscard]] StepSettings settings_at(std::uint64_t seed, std::span<const SettingsChange> changes,
                                       std::int64_t step);

/// Returns the seed of retry `number` of a job with `seed`. Each retry has its own; 0: `seed`.
[[nodiscard]] std::uint64_t seed_of_retry(std::uint64_t seed, int number);

/// Returns the changes of those decisions that change settings.
[[nodiscard]] std::vector<SettingsChange> changes_of(std::span<const Decision> decisions);

[[nodiscard]] int num_rollbacks(std::span<const Decision> decisions);

/// Returns the step behind which no rollback goes.
[[nodiscard]] std::int64_t origin_of(std::span<const Decision> decisions);

/// Returns whether a state of `step`, trained under `then`, is valid under `now`: both change the
/// steps before it alike.
[[nodiscard]] bool is_on_the_way(std::int64_t step, std::span<const Decision> then,
                                 std::span<const Decision> now);

/// Same, for a state that start number `start` of the run has left.
[[nodiscard]] bool is_on_the_way(std::int64_t step, std::int64_t start,
                                 std::span<const Decision> now);

}  // namespace gangway
