// SPDX-License-Identifier: MIT
// What was decided while a job was trained, and what follows of it for a step. The settings of a
// step are a function of the job, the decisions and the step, so that each repetition of a step has
// the same numbers: on another layout, after a kill, from an older checkpoint. Files:
// run/decision_file.hpp. Used by coordinator and workers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

enum class DecisionKind {
  kBranch,     ///< the run has begun with another run's checkpoint: nothing goes back behind it
  kRollback,   ///< training was in trouble: it went on from an earlier step
  kScore,      ///< a checkpoint has got its score: what follows of it follows of this
  kPlateau,    ///< scores have not become better: learning rates are lower
  kEarlyStop,  ///< scores have not become better: the run ends
};

/// Whether scores are what it follows from, which come when they are ready.
[[nodiscard]] constexpr bool follows_from_scores(DecisionKind kind) {
  return kind == DecisionKind::kScore || kind == DecisionKind::kPlateau ||
         kind == DecisionKind::kEarlyStop;
}

/// In files: "rollback".
[[nodiscard]] std::string_view name_of(DecisionKind kind);
[[nodiscard]] std::optional<DecisionKind> decision_kind(std::string_view name);

/// What is other from `step` on: the step that is trained when so many are done, and all later
/// ones.
struct SettingsChange {
  std::int64_t step = 0;
  double lr_factor = 1.0;  ///< on the learning rates of all networks
  int reseed = 0;          ///< random keys are those of this retry; 0: as they were
  bool operator==(const SettingsChange&) const = default;
};

struct Decision {
  DecisionKind kind = DecisionKind::kRollback;
  SettingsChange change;  ///< `change.step` is the step from which the decision holds
  std::string why;        ///< one line
  std::int64_t seen = 0;  ///< steps done when the reason was there
  /// Which start of the run has decided, or has begun with a branch; 0: it was another run, which
  /// this one has branched from.
  std::int64_t start = 0;
  std::optional<double> score;  ///< of kScore: nothing where there could be none
  bool operator==(const Decision&) const = default;
};

using Decisions = std::vector<Decision>;

/// What a step is trained with.
struct StepSettings {
  double lr_factor = 1.0;
  std::uint64_t seed = 0;  ///< of random keys; the order of the data has the job's own
  bool operator==(const StepSettings&) const = default;
};

/// @param seed  the job's
/// @param step  steps done before it
[[nodiscard]] StepSettings settings_at(std::uint64_t seed, std::span<const SettingsChange> changes,
                                       std::int64_t step);

/// The seed of retry `number` of a job with `seed`; 0: the job's own. Another one for each.
[[nodiscard]] std::uint64_t seed_of_retry(std::uint64_t seed, int number);

/// Of those decisions that change settings.
[[nodiscard]] std::vector<SettingsChange> changes_of(std::span<const Decision> decisions);

/// How many rollbacks there were.
[[nodiscard]] int num_rollbacks(std::span<const Decision> decisions);

/// Nothing goes back behind this step.
[[nodiscard]] std::int64_t origin_of(std::span<const Decision> decisions);

/// Whether a state of `step`, trained under `then`, is on the way that `now` prescribes: both
/// change the steps before it alike.
[[nodiscard]] bool is_on_the_way(std::int64_t step, std::span<const Decision> then,
                                 std::span<const Decision> now);

/// The same of a state that start number `start` of the run has left.
[[nodiscard]] bool is_on_the_way(std::int64_t step, std::int64_t start,
                                 std::span<const Decision> now);

}  // namespace gangway
