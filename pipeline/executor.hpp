// SPDX-License-Identifier: MIT
// Runs a list of instructions on an Operations object: a worker for training, a clock for
// simulation, a recorder for tests.
#pragma once

#include <vector>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

class Operations {
 public:
  virtual ~Operations() = default;
  virtual void perform(const Instruction& instruction) = 0;
};

/// Runs `schedule` in order. Compute thread; exceptions of an operation pass through.
inline void execute(const std::vector<Instruction>& schedule, Operations& operations) {
  for (const Instruction& instruction : schedule) {
    operations.perform(instruction);
  }
}

}  // namespace gangway::pipeline
