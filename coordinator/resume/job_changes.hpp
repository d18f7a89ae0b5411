// SPDX-License-Identifier: MIT
// What differs between the job of a checkpoint and the one that goes on from it, for a person.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "job/spec.hpp"

namespace gangway::coordinator {

/// "training.batch 64, was 128; data.source toy:ring8, was idx:faces": the keys that differ and
/// decide about a weight of either job, in the key table's order, the first few of them. Never
/// empty where the fingerprints of the jobs differ.
/// @param section  only keys that begin with it, as "model."
[[nodiscard]] std::string job_changes(const JobSpec& before, const JobSpec& now,
                                      std::string_view section = {});

}  // namespace gangway::coordinator
