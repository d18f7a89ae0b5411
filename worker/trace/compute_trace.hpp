// SPDX-License-Identifier: MIT
// Trace events of a worker's compute thread.
#pragma once

#include <cstdint>

#include "comm/transport/trace.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::worker {

/// An event of the compute thread.
struct ComputeEvent {
  enum class Kind : std::uint8_t { kStep, kInstruction, kLoaderWait };
  comm::TraceClock::time_point begin;
  comm::TraceClock::time_point end;
  Kind kind = Kind::kInstruction;
  std::int64_t step = 0;                   ///< steps done before it
  pipeline::Instruction instruction = {};  ///< of an instruction event
};

using ComputeTrace = comm::TraceRing<ComputeEvent>;

}  // namespace gangway::worker
