// SPDX-License-Identifier: MIT
// Checks that a job's style picture can be decoded, while the file is still the user's and not the
// run's copy. Called before a run is made, and by --dry-run.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// @throws ConfigError naming key and file. Jobs without a style picture pass.
void require_style_picture(const JobSpec& spec);

}  // namespace gangway::launch
