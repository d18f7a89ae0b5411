// SPDX-License-Identifier: MIT
// Which of LibTorch's operators the compute thread ran when: its own profiler (Kineto), turned on
// for the traced steps. Compute thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/trace_steps.hpp"

namespace gangway::worker {

/// Times in nanoseconds of the steady clock.
struct OperatorEvent {
  std::string name;  ///< "aten::conv2d"
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t thread = 0;  ///< LibTorch's number of it; of a kernel, the device's of its stream
  /// Of what it takes, where they are wanted; empty for what is no tensor.
  std::vector<std::vector<std::int64_t>> shapes{};
  std::int64_t allocated = 0;  ///< bytes, by itself and not by what it called, where wanted
};

/// That much more memory is given out from then on; less where it is below 0.
struct MemoryEvent {
  std::int64_t time = 0;
  std::int64_t bytes = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

struct TracedOperators {
  std::vector<OperatorEvent> operators;
  std::vector<OperatorEvent> kernels;  ///< what devices did, where it is wanted
  std::vector<MemoryEvent> memory;     ///< in order, where it is wanted
};

/// Something in Kineto's record, and when it was by the steady clock.
struct OperatorMark {
  std::string name;
  std::int64_t time = 0;
};

/// One at a time in a process.
class OperatorTrace {
 public:
  /// Begins. Kernels are asked of CUPTI, which may leave training slower than it was
  /// (docs/tracing.md).
  explicit OperatorTrace(TraceDetail detail);
  /// Ends. Kineto's times are the wall clock's, which may be set meanwhile: two marks of known
  /// time, one at either end, say what they are by the steady clock. @pre called once
  [[nodiscard]] TracedOperators stop();

 private:
  OperatorMark began_;
};

}  // namespace gangway::worker
