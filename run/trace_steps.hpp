// SPDX-License-Identifier: MIT
// Which steps of a run are traced (docs/tuning.md): an option of the run, not of the job. Read by
// `gangway run` and by the coordinator, which tells the workers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gangway {

/// Where a run keeps its traces.
inline constexpr std::string_view kTraceFolder = "trace";
inline constexpr std::string_view kMergedTraceFile = "trace.json";

/// What is written down of operators besides when they ran: each costs time and bytes.
struct TraceDetail {
  bool shapes = false;   ///< of the tensors that they take
  bool memory = false;   ///< what they allocate, and all that is allocated, by time
  bool kernels = false;  ///< what the device did when, on GPUs
  friend bool operator==(const TraceDetail&, const TraceDetail&) = default;
};

/// The steps [begin, end), counted from 0 since the job began; none where they are equal.
struct TraceSteps {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TraceDetail detail{};
  [[nodiscard]] bool empty() const { return begin >= end; }
  friend bool operator==(const TraceSteps&, const TraceSteps&) = default;
};

/// What `--trace` was given: "100:110", or "100:110,shapes,memory,kernels"; nothing to trace where
/// it is empty.
/// @throws ConfigError unless it is two numbers, the first below the second, and words of these.
[[nodiscard]] TraceSteps parse_trace_steps(std::string_view text);

/// "rank2.pt.trace.json": one worker's part of a trace, by the name that PyTorch's view of profiles
/// in TensorBoard looks for.
[[nodiscard]] std::string trace_file_of_rank(int rank);

/// The first line of a worker's file: what its times, microseconds, are counted from.
/// @param nanoseconds  of the steady clock of worker 0's host
[[nodiscard]] std::string trace_file_head(std::int64_t nanoseconds);
/// What such a line says; 0 where it is none.
[[nodiscard]] std::int64_t began_in_head(std::string_view line);

}  // namespace gangway
