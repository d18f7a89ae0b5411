// SPDX-License-Identifier: MIT
// Which steps of a run are traced (docs/tracing.md): an option of the run, not of the job. Read by
// `gangway run` and by the coordinator, which tells the workers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gangway {

/// Where a run keeps its traces.
inline constexpr std::string_view kTraceFolder = "trace";
inline constexpr std::string_view kMergedTraceFile = "trace.json";

/// The steps [begin, end), counted from 0 since the job began; none where they are equal.
struct TraceSteps {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] bool empty() const { return begin >= end; }
  friend bool operator==(const TraceSteps&, const TraceSteps&) = default;
};

/// What `--trace` was given: "100:110"; nothing to trace where it is empty.
/// @throws ConfigError unless it is two numbers, the first below the second.
[[nodiscard]] TraceSteps parse_trace_steps(std::string_view text);

/// "rank2.json": one worker's part of a trace.
[[nodiscard]] std::string trace_file_of_rank(int rank);

/// The first line of a worker's file: what its times, microseconds, are counted from.
/// @param nanoseconds  of the steady clock of worker 0's host
[[nodiscard]] std::string trace_file_head(std::int64_t nanoseconds);
/// What such a line says; 0 where it is none.
[[nodiscard]] std::int64_t began_in_head(std::string_view line);

}  // namespace gangway
