// SPDX-License-Identifier: MIT
// Decides rollbacks under training.divergence.policy rollback. The target depends only on the job
// and the trouble's step, not on existing states. So every layout and start decides alike. Pure;
// used by RunCore.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/trouble/trouble_watch.hpp"
#include "job/decisions.hpp"
#include "job/divergence.hpp"

namespace gangway::coordinator {

/// Returns the step from which a rollback's settings hold: the last but one multiple of `rewind` up
/// to the trouble, but not before `origin`. At least `rewind` steps are repeated, if there are so
/// many, because training began to diverge before the trouble showed.
[[nodiscard]] std::int64_t rollback_step(std::int64_t trouble, std::int64_t rewind,
                                         std::int64_t origin);

/// Returns the rollback; nothing if the policy or the retries used up forbid it.
/// @param start  number of this start of the run
[[nodiscard]] std::optional<Decision> rollback_of(const DivergenceSpec& spec,
                                                  const Decisions& earlier, const Trouble& trouble,
                                                  std::int64_t start);

/// Appends the rollback, and drops decisions from later steps' scores, which will change.
void add_rollback(Decisions& decisions, Decision rollback);

/// Returns "goes back to step 300, with learning rates times 0.5 and new random numbers (1 of 3)".
[[nodiscard]] std::string describe_rollback(const DivergenceSpec& spec, const Decision& decision,
                                            int number);

/// Returns arguments, each after a space, to add to the command of a run that ended in trouble.
/// With them it resumes with other settings.
[[nodiscard]] std::string change_after_trouble(const DivergenceSpec& spec,
                                               const Decisions& decisions);

/// Describes the rollbacks tried and how to try more; empty if there were none.
[[nodiscard]] std::string rollback_story(const DivergenceSpec& spec, const Decisions& decisions);

}  // namespace gangway::coordinator
