// SPDX-License-Identifier: MIT
// One step of a traced run, as a page draws it: what each worker's threads did, side by side. Reads
// trace/trace.json (docs/tuning.md) line by line. Any thread.
#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// {"step", "microseconds", "ranks": [{"rank", "name", "rows": [{"name", "spans": [[begin, length,
/// "name", "category"], ...]}]}]}, times in microseconds since the step began on the first worker;
/// null where there is no trace. The step is the one in the middle of those that were traced;
/// operators are left out, and the longest `most_spans` intervals are taken where there are more.
[[nodiscard]] nlohmann::ordered_json step_timeline(const std::filesystem::path& trace,
                                                   std::size_t most_spans = 3000);

}  // namespace gangway::report
