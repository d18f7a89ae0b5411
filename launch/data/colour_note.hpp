// SPDX-License-Identifier: MIT
// That colour pictures are about to be trained grey, or grey ones in colour: said before a job is
// started, and in its dry run. Called by require_data.
#pragma once

#include <string>

#include "job/spec.hpp"

namespace gangway::launch {

/// Empty: pictures and job agree, there are none, or they cannot be read, which the workers say.
[[nodiscard]] std::string colour_note(const JobSpec& spec);

}  // namespace gangway::launch
