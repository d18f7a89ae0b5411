// SPDX-License-Identifier: MIT
// The decisions that a start goes on with, and what lies in the run directory that they have put
// off the way. Called by the coordinator before the first message, under the run's lock.
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

/// What a checkpoint says of the decisions before it; what another gangway has written is left out.
[[nodiscard]] Decisions decisions_in(const checkpoint::Manifest& manifest);
/// For the manifest of the next one.
[[nodiscard]] std::vector<checkpoint::ManifestEvent> events_of(const Decisions& decisions);

/// Those of the run's file; where that is gone, of its newest checkpoint. @throws CheckpointError
[[nodiscard]] Decisions decisions_of_run(const std::filesystem::path& run);

/// Of a run that begins with the checkpoint of another one: what that was trained under holds on,
/// and nothing goes back behind it. A start that repeats the same keeps `own`: the checkpoint is
/// known by its id.
/// @param from   path of the checkpoint
/// @param start  number of this start of the run
[[nodiscard]] Decisions branched(const Decisions& own, const checkpoint::Manifest& manifest,
                                 const std::string& from, std::int64_t start);

/// Of a run that repeats another one's, up to its checkpoint: those of that, and where the run has
/// begun with another checkpoint of it.
[[nodiscard]] Decisions repeated(const Decisions& own, const checkpoint::Manifest& manifest);

/// What the run itself has begun with, of another one's; nothing: it has not.
[[nodiscard]] std::optional<Decision> own_branch(const Decisions& own);

/// Whether a checkpoint of the run's is of what it has been since it branched off.
[[nodiscard]] bool is_since_branch(const checkpoint::Manifest& manifest, const Decisions& own);

/// Removes the run's checkpoints that were trained otherwise than `decisions` say; pinned ones are
/// set aside. @param tell  a line for each. @throws EnvironmentError
void drop_abandoned(const std::filesystem::path& run, const Decisions& decisions,
                    const std::function<void(const std::string&)>& tell);

/// Steps after which the run is over: an early stop that was decided counts where the job has them.
[[nodiscard]] std::int64_t last_step(const JobSpec& job, const Decisions& decisions);

}  // namespace gangway::coordinator
