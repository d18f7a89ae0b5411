// SPDX-License-Identifier: MIT
// Lists of instructions as text, to look at, to keep, and to change by hand: one instruction a
// line, one text a worker.
//
//   forward discriminator.2 step=4 phase=0.0 node=1.2 microbatch=3 version=4 keeps
//   send forward discriminator.2 step=4 phase=0.0 node=1.2 microbatch=3 to=1 bytes=65536
//
// Behind the operation: what made the tensor, where it is about one; network.chunk; step;
// phase.repeat; pass.node; micro-batch; weight version. What is not said is 0, or none is meant.
#pragma once

#include <string>
#include <string_view>

#include "job/models/network_id.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

/// A line without its end. @param networks  names of the job's
[[nodiscard]] std::string text_of(const StageInstruction& instruction,
                                  const PerNetwork<std::string>& networks);
[[nodiscard]] std::string text_of(const StageList& list, const PerNetwork<std::string>& networks);

/// What text_of wrote of. Empty lines are refused: line n is instruction n - 1.
/// @param source  of the text, for messages: a file's name
/// @throws ConfigError naming source and line
[[nodiscard]] StageList list_from_text(std::string_view text,
                                       const PerNetwork<std::string>& networks,
                                       std::string_view source);

}  // namespace gangway::pipeline
