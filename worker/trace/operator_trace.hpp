// SPDX-License-Identifier: MIT
// Records when the compute thread ran LibTorch's operators: runs LibTorch's profiler (Kineto) for
// the traced steps. Compute thread.
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
  std::uint64_t thread = 0;  ///< LibTorch's thread number; of a kernel: its stream
  /// Shapes of its inputs, if wanted; empty for an input that is no tensor.
  std::vector<std::vector<std::int64_t>> shapes{};
  std::int64_t allocated = 0;  ///< bytes, without its callees, if wanted
};

/// A change of allocated memory: by `bytes`, negative if freed.
struct MemoryEvent {
  std::int64_t time = 0;
  std::int64_t bytes = 0;
  std::uint64_t thread = 0;
  bool is_on_device = false;
};

struct TracedOperators {
  std::vector<OperatorEvent> operators;
  std::vector<OperatorEvent> kernels;  ///< of devices, if wanted
  std::vector<MemoryEvent> memory;     ///< in order, if wanted
};

/// An event in Kineto's record with its time by the steady clock.
struct OperatorMark {
  std::string name;
  std::int64_t time = 0;
};

/// Profiles operators between construction and stop(). One at a time in a process.
class OperatorTrace {
 public:
  /// Begins. Kernels are recorded by CUPTI, which may leave training slower afterwards
  /// (docs/tuning.md).
  explicit OperatorTrace(TraceDetail detail);
  /// Ends. Kineto's times are wall-clock times, which may be adjusted meanwhile: two marks of known
  /// time, one at each end, convert them to the steady clock. @pre called once
  [[nodiscard]] TracedOperators stop();

 private:
  OperatorMark began_;
};

}  // namespace gangway::worker
