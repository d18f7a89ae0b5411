// SPDX-License-Identifier: MIT
// Loads the decisions that a start continues with, and drops checkpoints that contradict them.
// Called by the coordinator before the first message, under the run's lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "job/decisions.hpp"
#include "job/spec.hpp"

namespace gangway::coordinator {

/// Returns a checkpoint's decisions; leaves out those that this version cannot read.
[[nodiscard]] Decisions decisions_in(const checkpoint::Manifest& manifest);
/// Returns the decisions as events for the next manifest.
[[nodiscard]] std::vector<checkpoint::ManifestEvent> events_of(const Decisions& decisions);

/// Returns the decisions in the run's file, else its newest checkpoint's. @throws CheckpointError
[[nodiscard]] Decisions decisions_of_run(const std::filesystem::path& run);

/// Returns the decisions of a run that begins with another run's checkpoint: they stay in force,
/// and no rollback goes behind it. A start that repeats the same branch keeps `own`; the
/// checkpoint's id identifies it.
/// @param from   path of the checkpoint
/// @param start  number of this start of the run
[[nodiscard]] Decisions branched(const Decisions& own, const checkpoint::Manifest& manifest,
                                 const std::string& from, std::int64_t start);

/// Returns the decisions of a run that repeats another one up to its checkpoint: the checkpoint's
/// decisions and the run's own branch, if any.
[[nodiscard]] Decisions repeated(const Decisions& own, const checkpoint::Manifest& manifest);

/// Returns the run's own branch from another run's checkpoint; nothing: it has none.
[[nodiscard]] std::optional<Decision> own_branch(const Decisions& own);

/// Whether a checkpoint was saved after the run's own branch; true if there is no branch.
[[nodiscard]] bool is_since_branch(const checkpoint::Manifest& manifest, const Decisions& own);

/// Removes the run's checkpoints that contradict `decisions`; sets pinned ones aside.
/// @param tell  receives a line for each. @throws EnvironmentError
void drop_abandoned(const std::filesystem::path& run, const Decisions& decisions,
                    const std::function<void(const std::string&)>& tell);

/// Returns the run's last step: an early stop counts if the job has early stops.
[[nodiscard]] std::int64_t last_step(const JobSpec& job, const Decisions& decisions);

}  // namespace gangway::coordinator
