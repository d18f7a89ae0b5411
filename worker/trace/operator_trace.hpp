// SPDX-License-Identifier: MIT
// Which of LibTorch's operators the compute thread ran when: its own profiler (Kineto), turned on
// for the traced steps. Compute thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gangway::worker {

/// Times in nanoseconds of the steady clock.
struct OperatorEvent {
  std::string name;  ///< "aten::conv2d"
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t thread = 0;  ///< LibTorch's number of it
};

/// Something in Kineto's record, and when it was by the steady clock.
struct OperatorMark {
  std::string name;
  std::int64_t time = 0;
};

/// One at a time in a process.
class OperatorTrace {
 public:
  /// Begins.
  OperatorTrace();
  /// Ends. Kineto's times are the wall clock's, which may be set meanwhile: two marks of known
  /// time, one at either end, say what they are by the steady clock. @pre called once
  [[nodiscard]] std::vector<OperatorEvent> stop();

 private:
  OperatorMark began_;
};

}  // namespace gangway::worker
