// SPDX-License-Identifier: MIT
// Networks and libraries of the user's are looked at before a run is made, and by --dry-run: by
// gangway-model, which has LibTorch. The workers look again. Main thread.
#pragma once

#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/file/parse.hpp"
#include "launch/run/run_options.hpp"

namespace gangway::launch {

/// Where networks are the user's Python and layout.python is auto: with the environment that is
/// meant, $VIRTUAL_ENV or .venv beside the job file, so that workers on any host and later commands
/// run the same one. @throws JobFileError where the job cannot be read
[[nodiscard]] RunOptions with_found_python(RunOptions options, const Environment& environment);

/// Fills in how many parameters the job's own networks have. Where gangway-model is not built yet
/// they stay uncounted.
/// @throws ConfigError of one line for a file that cannot be trained; nothing is started for a job
/// without such files or a library
void inspect_own_networks(ResolvedJob& job);

}  // namespace gangway::launch
