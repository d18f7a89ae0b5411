// SPDX-License-Identifier: MIT
// Whether a job's style picture can be decoded: asked before a run is made, and by --dry-run, where
// the file still is the user's and not the run's copy.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// @throws ConfigError naming key and file. Jobs without a style picture pass.
void require_style_picture(const JobSpec& spec);

}  // namespace gangway::launch
