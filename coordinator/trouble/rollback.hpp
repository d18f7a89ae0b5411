// SPDX-License-Identifier: MIT
// What follows of trouble under training.divergence.policy rollback. Where the run goes back to
// follows from the job and from where the trouble was, not from the states that happen to be there,
// so that each layout and each start decides alike. Pure; used by the Conductor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/trouble/trouble_watch.hpp"
#include "job/decisions.hpp"
#include "job/divergence.hpp"

namespace gangway::coordinator {

/// The step from which a rollback's settings hold: the last but one multiple of `rewind` up to the
/// trouble, but none before `origin`. At least `rewind` steps lie between, or all there are: what
/// was about to diverge is trained again.
[[nodiscard]] std::int64_t rollback_step(std::int64_t trouble, std::int64_t rewind,
                                         std::int64_t origin);

/// The decision; nothing where the run ends: it is not to go back, or has often enough.
/// @param start  number of this start of the run
[[nodiscard]] std::optional<Decision> rollback_of(const DivergenceSpec& spec,
                                                  const Decisions& earlier, const Trouble& trouble,
                                                  std::int64_t start);

/// Appends it. What scores of later steps have led to is forgotten: they will be others.
void add_rollback(Decisions& decisions, Decision rollback);

/// "goes back to step 300, with learning rates times 0.5 and new random numbers (1 of 3)"
[[nodiscard]] std::string describe_rollback(const DivergenceSpec& spec, const Decision& decision,
                                            int number);

/// Words that, behind the command of a run that has ended in trouble, let it go on in another way;
/// each after a space.
[[nodiscard]] std::string change_after_trouble(const DivergenceSpec& spec,
                                               const Decisions& decisions);

/// What was tried, and what tries on; empty where nothing was.
[[nodiscard]] std::string rollback_story(const DivergenceSpec& spec, const Decisions& decisions);

}  // namespace gangway::coordinator
