// SPDX-License-Identifier: MIT
// What people are told when all workers are ready: who they are, how large the networks, and what
// has changed since a checkpoint. Pure; used by the RunRecorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// The software and the data by which the state was computed that a start goes on from.
struct StateBefore {
  checkpoint::Manifest manifest;
  std::string_view since;  ///< "the checkpoint was saved"
};

/// Of the state of `step`: its checkpoint, or of a snapshot the start before. Nothing: it is new.
[[nodiscard]] std::optional<StateBefore> state_before(const StartedRun& run, std::int64_t step);

/// What a run's checkpoints say that their state was computed with.
[[nodiscard]] Software software_now(const messages::Ready& ready,
                                    const std::optional<StateBefore>& before);

/// What differs from `before` and may change bits, a line each.
[[nodiscard]] std::vector<std::string> change_warnings(const StateBefore& before,
                                                       const Software& software,
                                                       const messages::Ready& ready,
                                                       const JobSpec& job);

}  // namespace gangway::coordinator
