// SPDX-License-Identifier: MIT
// What people are told when all workers are ready: who they are, how large the networks, and what
// has changed since a checkpoint. Pure; used by the RunRecorder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/format/manifest.hpp"
#include "job/spec.hpp"
#include "run/messages/messages.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {

/// "generator 1066880 parameters, discriminator 661248".
[[nodiscard]] std::string parameter_counts(const JobSpec& job, const messages::Ready& ready);

/// A line for each process, below their titles; no line break at the end.
[[nodiscard]] std::string placement_table(const std::vector<PlacedRank>& ranks);

/// A checkpoint that a run goes on from, and with what.
struct ChangedSince {
  const checkpoint::Manifest& before;
  const std::map<std::string, std::string>& software;
  const std::string& data_fingerprint;
};

/// What differs and may change bits, a line each.
[[nodiscard]] std::vector<std::string> change_warnings(const ChangedSince& since,
                                                       const JobSpec& job);

}  // namespace gangway::coordinator
