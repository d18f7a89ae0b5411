// SPDX-License-Identifier: MIT
// How much the examples of a micro-batch differ that a discriminator judges: of generated ones,
// beside real ones, it tells whether a generator makes the same again and again. Compute thread.
#pragma once

#include <string>

#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"
#include "worker/figures/judged_logits.hpp"

namespace gangway::worker {

/// Where the job looks at how much examples differ: the tensor of `pass` that is `judged`, as it
/// was before it was augmented or exchanged for others of a pool, and without a picture that it is
/// judged beside. Else empty.
[[nodiscard]] std::string judged_examples(const pipeline::Pass& pass, const JudgedLogits& judged,
                                          const Job& job);

/// The name under which that is told.
[[nodiscard]] std::string spread_figure(const JudgedLogits& judged);

/// Mean squared difference of each example from the next one, the last one's from the first.
/// @param examples  [N, ...], N at least 2  @return a scalar, float32, without a graph
[[nodiscard]] at::Tensor spread_of(const at::Tensor& examples);

}  // namespace gangway::worker
