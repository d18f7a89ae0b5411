// SPDX-License-Identifier: MIT
// A supervised job that goes back where its training is in trouble: each time the coordinator has
// recorded such a decision and ended the job, it is started again. Called by `gangway run`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/run/supervise.hpp"

namespace gangway::launch {

/// What a start after a rollback is to go on from.
///
/// @param asked  --resume as the user gave it
/// @return "auto", or the path that was given, where the run has no checkpoint of its own that is
/// as old as the newest rollback
[[nodiscard]] std::string resume_after_rollback(const std::string& asked,
                                                const std::filesystem::path& run);

/// As `supervise`; after a rollback again, with the command that `next_command` gives then. The
/// coordinator bounds how often.
[[nodiscard]] int supervise_through_rollbacks(
    SupervisedJob job, const std::function<std::vector<std::string>()>& next_command);

}  // namespace gangway::launch
