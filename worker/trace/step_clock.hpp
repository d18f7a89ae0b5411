// SPDX-License-Identifier: MIT
// Measures the compute thread's time in a step's parts (run/messages/step_parts.hpp) and its
// processor time. Compute thread.
#pragma once

#include <cstdint>

#include "base/system/time_ledger.hpp"
#include "job/models/network_id.hpp"
#include "pipeline/instruction.hpp"
#include "run/messages/messages.hpp"
#include "run/messages/step_parts.hpp"

namespace gangway::worker {

/// Puts the calling thread in `part` until the end of the scope.
[[nodiscard]] inline PartScope in_part(messages::StepPart part) {
  return PartScope(messages::index_of(part));
}
/// Does the same with the instruction's part.
[[nodiscard]] PartScope in_part(const pipeline::Instruction& instruction);

class StepClock {
 public:
  explicit StepClock(std::size_t num_networks)
      : num_parts_(messages::num_step_parts(num_networks)) {}

  /// Begins to measure the calling thread's time.
  void begin();
  /// Returns the figures since `begin` or the last call.
  [[nodiscard]] messages::StepFigures take();

 private:
  struct Usage {
    double core_seconds = 0.0;
    double process_seconds = 0.0;  // of all threads
    std::uint64_t preemptions = 0;
    std::uint64_t major_faults = 0;
  };
  [[nodiscard]] static Usage usage();

  std::size_t num_parts_;
  TimeLedger ledger_;
  TimeLedger::Nanoseconds last_sums_{};
  Usage last_usage_;
};

}  // namespace gangway::worker
