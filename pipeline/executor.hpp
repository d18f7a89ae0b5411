// SPDX-License-Identifier: MIT
// Runs a list of instructions. An Operations object carries each one out: the worker's for
// training, a clock's for simulation, a recorder's in tests.
#pragma once

#include <vector>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

class Operations {
 public:
  virtual ~Operations() = default;
  virtual void perform(const Instruction& instruction) = 0;
};

/// Performs `schedule` in order. Compute thread; exceptions of an operation pass through.
inline void execute(const std::vector<Instruction>& schedule, Operations& operations) {
  for (const Instruction& instruction : schedule) {
    operations.perform(instruction);
  }
}

}  // namespace gangway::pipeline
