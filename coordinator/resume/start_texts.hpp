// SPDX-License-Identifier: MIT
// What people are told when all workers are ready: who they are, how large the networks, and what
// has changed since a checkpoint. Pure; used by the RunRecorder.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "coordinator/resume/equal_arithmetic.hpp"
#include "coordinator/resume/start.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {

/// "dcgan, 32 pixels, width 64, latent 100, 1 channel": what a checkpoint's tensors depend on.
[[nodiscard]] std::string describe_model(const ModelSpec& model);

/// "generator 1066880 parameters, discriminator 661248".
[[nodiscard]] std::string parameter_counts(const JobSpec& job, const messages::Ready& ready);

/// A line for each process, below their titles; no line break at the end.
[[nodiscard]] std::string placement_table(const std::vector<PlacedRank>& ranks);

/// What a run's checkpoints say that their state was computed with.
/// @param before  of the checkpoint that it goes on from; null: it begins
[[nodiscard]] Software software_now(const messages::Ready& ready,
                                    const checkpoint::Manifest* before);

/// A checkpoint that a run goes on from, and with what.
struct ChangedSince {
  const checkpoint::Manifest& before;
  const Software& software;
  const messages::Ready& ready;
};

/// What differs and may change bits, a line each.
[[nodiscard]] std::vector<std::string> change_warnings(const ChangedSince& since,
                                                       const JobSpec& job);

/// The same of a run that begins at `step`: since its checkpoint, or where there is none, of the
/// data, since it was started last.
[[nodiscard]] std::vector<std::string> warnings_of_start(const StartedRun& run,
                                                         const Software& software,
                                                         const messages::Ready& ready,
                                                         std::int64_t step);

}  // namespace gangway::coordinator
