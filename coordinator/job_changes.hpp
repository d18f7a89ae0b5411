// SPDX-License-Identifier: MIT
// What differs between the job of a checkpoint and the one that goes on from it, for a person. Pure.
#pragma once

#include <string>
#include <string_view>

namespace gangway::coordinator {

/// "training.batch 64, was 128; data.source toy:ring8, was idx:faces": the keys of two resolved jobs
/// that differ and can change a weight, in the order of `now`, the first few of them.
[[nodiscard]] std::string job_changes(std::string_view before, std::string_view now);

}  // namespace gangway::coordinator
