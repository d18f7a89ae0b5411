// SPDX-License-Identifier: MIT
// Merges the workers' traces into one file (docs/tuning.md). Each worker writes one event per line
// and its time offset on the common clock, so merging copies lines. Called by the coordinator.
#pragma once

#include <filesystem>

namespace gangway::report {

/// Whether every worker has written its file in `folder`.
[[nodiscard]] bool is_trace_complete(const std::filesystem::path& folder, int num_workers);

/// Merges the existing files into FOLDER/trace.json. @return number of files; at 0 it writes
/// nothing.
/// @throws EnvironmentError
int merge_traces(const std::filesystem::path& folder, int num_workers);

}  // namespace gangway::report
