// SPDX-License-Identifier: MIT
// Describes the differences between a checkpoint's job and the job that resumes from it, for the
// user. Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/spec.hpp"

namespace gangway::coordinator {

/// Returns the first few keys that differ and affect a weight of either job, in the key table's
/// order: "training.batch 64, was 128; data.source toy:ring8, was idx:faces". Never empty if the
/// jobs' fingerprints differ.
/// @param section  prefix of the keys to compare, such as "model."
[[nodiscard]] std::string job_changes(const JobSpec& before, const JobSpec& now,
                                      std::string_view section = {});

}  // namespace gangway::coordinator
