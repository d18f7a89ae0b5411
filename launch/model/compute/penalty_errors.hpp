// SPDX-License-Identifier: MIT
// Compares a job's penalties in the precisions of numerics.penalties with the same in float64. Main
// thread.
#pragma once

#include <string>
#include <vector>

#include "job/precision.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Relative errors of a penalty over one micro-batch: |value - exact| / |exact|, of all numbers
/// together.
struct PenaltyError {
  std::string penalty;  ///< "R1"
  std::string network;
  Precision precision = Precision::kFp32;
  double norms = 0.0;    ///< of the penalised gradient, one an example
  double weights = 0.0;  ///< gradient of the penalty by all weights
};

/// Computes each kind of penalty of the job in fp32 and in bf16, with the weights of
/// NETWORK.weights or initial ones, over keyed noise in place of pictures.
/// @param job  of the CPU
[[nodiscard]] std::vector<PenaltyError> penalty_errors(const JobSpec& job);

/// Returns the examples that penalty_errors() takes: at most 16, because float64 is slow.
[[nodiscard]] int examples_of_penalties(const JobSpec& job);

}  // namespace gangway::launch
