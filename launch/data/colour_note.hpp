// SPDX-License-Identifier: MIT
// Warns that a job trains colour pictures as grey ones, or grey pictures in colour. Called by
// require_data, before a job starts and in its dry run.
#pragma once

#include <string>

#include "job/spec.hpp"

namespace gangway::launch {

/// Returns the warning; empty if pictures and job agree, or if the pictures cannot be read.
[[nodiscard]] std::string colour_note(const JobSpec& spec);

}  // namespace gangway::launch
