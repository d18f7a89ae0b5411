// Counts the partial sums (whole subtrees) that a GPU kernel adds up for a slice of a network's
// gradients. Pure.
#pragma once

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Limit of a kernel's arguments (comm/cuda/sum_program.hpp).
inline constexpr int kMostDeviceSums = 128;

/// Returns the sums of a worker that holds `range` of the micro-batches: the fewest whole subtrees.
[[nodiscard]] int device_sums(MicrobatchRange range, int microbatches);
/// Returns the gradient arenas that the worker needs at once, the open leaf's included
/// (comm/reduce/partial_stack.hpp).
[[nodiscard]] int gradient_buffers(MicrobatchRange range, int microbatches);
/// Returns the largest number of sums on any worker of a network, or of one chunk of it.
[[nodiscard]] int most_device_sums(const JobSpec& spec, const Layout& layout);

/// @throws ConfigError, one line with the remedy, if the sums are too many for the job's device
void require_few_device_sums(const JobSpec& spec, const Layout& layout);

}  // namespace gangway
