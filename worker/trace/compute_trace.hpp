// SPDX-License-Identifier: MIT
// What the compute thread of a worker wrote down for a trace.
#pragma once

#include <cstdint>

#include "comm/transport/trace.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::worker {

/// What the compute thread did.
struct ComputeEvent {
  enum class Kind : std::uint8_t { kStep, kInstruction, kLoaderWait };
  comm::TraceClock::time_point begin;
  comm::TraceClock::time_point end;
  Kind kind = Kind::kInstruction;
  std::int64_t step = 0;                   ///< steps done before it
  pipeline::Instruction instruction = {};  ///< where it is one
};

using ComputeTrace = comm::TraceRing<ComputeEvent>;

}  // namespace gangway::worker
