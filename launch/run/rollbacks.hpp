// SPDX-License-Identifier: MIT
// A supervised job that goes back where its training is in trouble, or goes on without workers that
// were drained: each time the coordinator has recorded that and ended the job, it is started again.
// Called by `gangway run`.
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

/// The words that continue a run after it has saved: those typed; where they would start at another
/// place again (--resume never or a path), with the run named and --resume auto.
[[nodiscard]] std::string resume_line(std::vector<std::string> typed,
                                      const std::string& run_directory_name);

/// What the next start is to be: `drained`, ranks of the one before that are to have no successor,
/// in order; none after a rollback.
using PrepareStart = std::function<void(SupervisedJob& job, const std::vector<int>& drained)>;

/// Says that the job starts, and by which command where that is asked for: it is long.
void tell_start(const SupervisedJob& job);

/// As `supervise`; after a rollback or a drain again, as `prepare` says. The coordinator bounds how
/// often.
[[nodiscard]] int supervise_through_rollbacks(SupervisedJob job, const PrepareStart& prepare);

}  // namespace gangway::launch
