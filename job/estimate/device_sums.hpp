// SPDX-License-Identifier: MIT
// How many sums a GPU's kernel is to add up for a slice of a network's gradients: those of whole
// subtrees that the workers bring. Pure.
#pragma once

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// No more fit the arguments of a kernel (comm/cuda/sum_program.hpp).
inline constexpr int kMostDeviceSums = 128;

/// Of one worker that holds `range` of the micro-batches: the fewest whole subtrees.
[[nodiscard]] int device_sums(MicrobatchRange range, int microbatches);
/// Arenas of gradients that it needs at once, the open leaf's among them
/// (comm/reduce/partial_stack.hpp).
[[nodiscard]] int gradient_buffers(MicrobatchRange range, int microbatches);
/// The largest number of sums on any worker of a network, or of one chunk of it.
[[nodiscard]] int most_device_sums(const JobSpec& spec, const Layout& layout);

/// @throws ConfigError, one line with the remedy, where they are too many for the job's device
void require_few_device_sums(const JobSpec& spec, const Layout& layout);

}  // namespace gangway
