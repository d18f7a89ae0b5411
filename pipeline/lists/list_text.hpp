// SPDX-License-Identifier: MIT
// Lists of the training workers as people read them: an instruction a line, and above them what the
// worker holds. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// "forward generator pass 0 micro-batch 3 phase=1.0 node=2": behind what it does, phase and repeat
/// in it, and the node of the phase's graph; `last`: of the network's updates in the step; `ahead`:
/// what it sees waits for its micro-batch's leaf. @param names  of the job's networks
[[nodiscard]] std::string line_of(const Instruction& instruction,
                                  const PerNetwork<std::string>& names);

/// "# rank 2: generator chunk 1 of 2 (blocks 3-5), micro-batches 0-7; discriminator, …".
[[nodiscard]] std::string heading_of(const Layout& layout, int worker,
                                     const PerNetwork<std::string>& names);

}  // namespace gangway::pipeline
