// SPDX-License-Identifier: MIT
// One worker's trace as a file in Chrome's trace format (docs/tracing.md), one event a line, so
// that files are merged without being read as JSON. Compute thread.
#pragma once

#include <filesystem>
#include <vector>

#include "comm/transport/clock_offset.hpp"
#include "comm/transport/traced_transport.hpp"
#include "worker/trace/compute_trace.hpp"
#include "worker/trace/operator_trace.hpp"

namespace gangway::worker {

struct TraceContent {
  std::filesystem::path folder;  ///< made where it is missing
  int worker = 0;
  comm::TraceClock::time_point began;
  comm::ClockOffset clock;  ///< to worker 0's
  const std::vector<pipeline::Phase>& phases;
  const PerNetwork<std::string>& networks;  ///< names
  const ComputeTrace& compute;
  const comm::LaneTrace& lane;
  const comm::TraceRing<comm::MessageEvent>* messages;  ///< null: none were written down
  const TracedOperators& operators;
};

/// Writes FOLDER/rank<R>.pt.trace.json. @throws EnvironmentError
void write_trace_file(const TraceContent& content);

}  // namespace gangway::worker
