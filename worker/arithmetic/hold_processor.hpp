// SPDX-License-Identifier: MIT
// numerics.processor: holds this process's libraries to one instruction set. Called by a worker
// once it knows the job, before anything computes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/processor.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

/// Returns variables that LibTorch, oneDNN and MKL read for kernels; empty for `kNative`. Pure.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> variables_for(InstructionSet set);

/// @throws EnvironmentError where `processor` cannot have kernels of the set. Pure.
void require_instructions(InstructionSet set, const Processor& processor);

/// Sets these variables and overrides the process's environment, because the job decides the bits.
/// Then lets MKL choose its vector kernels.
/// @throws EnvironmentError as above, and if LibTorch has already chosen other kernels
void hold_processor(InstructionSet set);

}  // namespace gangway::worker
