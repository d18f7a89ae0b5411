// SPDX-License-Identifier: MIT
// Extracts one step of a traced run for the page: the spans of each worker's threads. Reads
// trace/trace.json (docs/tuning.md) line by line. Any thread.
#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// Returns {"step", "microseconds", "ranks": [{"rank", "name", "rows": [{"name", "spans": [[begin,
/// length, "name", "category"], ...]}]}]}; null without a trace. Times are in microseconds since
/// the first worker began the step. Chooses the middle traced step. Omits operators; keeps the
/// `most_spans` longest spans.
[[nodiscard]] nlohmann::ordered_json step_timeline(const std::filesystem::path& trace,
                                                   std::size_t most_spans = 3000);

}  // namespace gangway::report
