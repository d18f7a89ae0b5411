// SPDX-License-Identifier: MIT
// The workers' traces as one file (docs/tuning.md). Each worker writes one event a line and says
// what its times are counted from on the one clock of all, so that merging is copying lines. Called
// by the coordinator.
#pragma once

#include <filesystem>

namespace gangway::report {

/// Whether every worker has left its file in `folder`.
[[nodiscard]] bool is_trace_complete(const std::filesystem::path& folder, int num_workers);

/// Joins the files that are there to FOLDER/trace.json. Returns how many they were; at none,
/// nothing is written.
/// @throws EnvironmentError
int merge_traces(const std::filesystem::path& folder, int num_workers);

}  // namespace gangway::report
