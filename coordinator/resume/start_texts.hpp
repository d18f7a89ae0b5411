// SPDX-License-Identifier: MIT
// What people are told when all workers are ready: who they are, and how large the networks. Pure;
// used by the RunRecorder.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"
#include "run/messages/messages.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {

/// "generator 1066880 parameters, discriminator 661248".
[[nodiscard]] std::string parameter_counts(const JobSpec& job, const messages::Ready& ready);

/// A line for each process, below their titles; no line break at the end.
[[nodiscard]] std::string placement_table(const std::vector<PlacedRank>& ranks);

}  // namespace gangway::coordinator
