// SPDX-License-Identifier: MIT
// Prints the workers' lists for people: one instruction per line, under a heading with the worker's
// part of the layout. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// Text: "forward generator pass 0 micro-batch 3 phase=1.0 node=2"; phase=PHASE.REPEAT, node in the
/// pass's graph. `last`: the network's last update in the step; `ahead`: its statistics wait for
/// the micro-batch's leaf. @param names  of the job's networks
[[nodiscard]] std::string line_of(const Instruction& instruction,
                                  const PerNetwork<std::string>& names);

/// Returns a line for each instruction of a worker's list, with "> " before those equal to `at`.
[[nodiscard]] std::string list_with_place(const std::vector<Instruction>& list,
                                          const Instruction& at,
                                          const PerNetwork<std::string>& names);

/// Text: "# rank 2: generator chunk 1 of 2 (blocks 3-5), micro-batches 0-7; discriminator, …".
[[nodiscard]] std::string heading_of(const Layout& layout, int worker,
                                     const PerNetwork<std::string>& names);

}  // namespace gangway::pipeline
