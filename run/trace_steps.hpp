// SPDX-License-Identifier: MIT
// Parses which steps of a run are traced (docs/tuning.md): an option of the run, not of the job.
// Called by `gangway run` and by the coordinator, which passes the steps to the workers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/index.hpp"

namespace gangway {

/// Names of the folder of traces in a run directory, and of the merged trace in it.
inline constexpr std::string_view kTraceFolder = "trace";
inline constexpr std::string_view kMergedTraceFile = "trace.json";

/// What a trace records of operators beside their times; each detail costs time and bytes.
struct TraceDetail {
  bool shapes = false;   ///< shapes of their input tensors
  bool memory = false;   ///< their allocations, and the total allocated over time
  bool kernels = false;  ///< kernels and copies on the GPU, with times
  friend bool operator==(const TraceDetail&, const TraceDetail&) = default;
};

/// The steps [begin, end), counted from 0 since the job began; none if begin >= end.
struct TraceSteps {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TraceDetail detail{};
  [[nodiscard]] bool empty() const { return begin >= end; }
  friend bool operator==(const TraceSteps&, const TraceSteps&) = default;
};

/// Parses the value of `--trace`: "100:110", or "100:110,shapes,memory,kernels". No step is traced
/// if it is empty.
/// @throws ConfigError unless the first number is below the second, and the words are these
[[nodiscard]] TraceSteps parse_trace_steps(std::string_view text);

/// Returns "rank2.pt.trace.json", the file of one worker's part of a trace. TensorBoard's profiler
/// view for PyTorch looks for this name.
[[nodiscard]] std::string trace_file_of_rank(Rank rank);

/// Returns the first line of a worker's file: the origin of its times, which are in microseconds.
/// @param nanoseconds  the origin, on the steady clock of worker 0's host
[[nodiscard]] std::string trace_file_head(std::int64_t nanoseconds);
/// Returns the nanoseconds in such a line; 0 if `line` is another.
[[nodiscard]] std::int64_t began_in_head(std::string_view line);

}  // namespace gangway
