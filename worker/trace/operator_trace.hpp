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

void start_operator_trace();
/// @pre started
[[nodiscard]] std::vector<OperatorEvent> stop_operator_trace();

}  // namespace gangway::worker
