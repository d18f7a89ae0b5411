// SPDX-License-Identifier: MIT
// Texts for the user when all workers are ready: placement, sizes of the networks, changes since a
// checkpoint. Pure; used by the RunRecorder.
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

/// Names what shapes a model's tensors: "dcgan, 32 pixels, width 64, latent 100, 1 channel".
[[nodiscard]] std::string describe_model(const ModelSpec& model);

/// Returns "generator 1066880 parameters, discriminator 661248".
[[nodiscard]] std::string parameter_counts(const JobSpec& job, const messages::Ready& ready);

/// Returns the titles and a line for each process; no line break at the end.
[[nodiscard]] std::string placement_table(const std::vector<PlacedRank>& ranks);

/// Software and data that computed the state which the start resumes from.
struct StateBefore {
  checkpoint::Manifest manifest;
  std::string_view since;  ///< for the texts, such as "the checkpoint was saved"
};

/// Describes the state of `step`: its checkpoint, or a snapshot's start. Nothing: it is new.
[[nodiscard]] std::optional<StateBefore> state_before(const StartedRun& run, std::int64_t step);

/// Returns the software that the run's checkpoints will record.
[[nodiscard]] Software software_now(const messages::Ready& ready,
                                    const std::optional<StateBefore>& before);

/// Returns a line for each difference from `before` that may change bits.
[[nodiscard]] std::vector<std::string> change_warnings(const StateBefore& before,
                                                       const Software& software,
                                                       const messages::Ready& ready,
                                                       const JobSpec& job);

}  // namespace gangway::coordinator
