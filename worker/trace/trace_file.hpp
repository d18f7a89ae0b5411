// SPDX-License-Identifier: MIT
// Writes one worker's trace in Chrome's trace format (docs/tuning.md), one event a line. So files
// can be merged without parsing JSON. Compute thread.
#pragma once

#include <filesystem>
#include <vector>

#include "comm/transport/clock_offset.hpp"
#include "comm/transport/traced_transport.hpp"
#include "worker/trace/compute_trace.hpp"
#include "worker/trace/operator_trace.hpp"

namespace gangway::worker {

struct TraceContent {
  std::filesystem::path folder;  ///< created if missing
  int worker = 0;
  comm::TraceClock::time_point began;
  comm::ClockOffset clock;  ///< to worker 0's
  const std::vector<pipeline::Phase>& phases;
  const PerNetwork<std::string>& networks;  ///< names
  const ComputeTrace& compute;
  const comm::LaneTrace& lane;
  const comm::TraceRing<comm::MessageEvent>* messages;  ///< null: none were recorded
  const TracedOperators& operators;
};

/// Writes FOLDER/rank<R>.pt.trace.json. @throws EnvironmentError
void write_trace_file(const TraceContent& content);

}  // namespace gangway::worker
