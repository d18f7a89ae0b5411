// SPDX-License-Identifier: MIT
// Random numbers that a pass asks for. Compute thread.
#pragma once

#include <cstddef>

#include "gan/random.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"

namespace gangway::worker {

/// What `draw` asks for, for the examples of one micro-batch.
/// @param key  of the place in the job; its draw is filled in
/// @param dimensions  of a batch of real examples
[[nodiscard]] at::Tensor drawn(const pipeline::Draw& draw, RandomKey key, const JobSpec& job,
                               std::size_t dimensions, at::Device device);

}  // namespace gangway::worker
