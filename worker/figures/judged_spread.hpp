// SPDX-License-Identifier: MIT
// Measures how much the examples of a micro-batch differ. Compared between real and generated ones,
// it shows whether a generator makes the same image again and again. Compute thread.
#pragma once

#include <string>

#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"
#include "worker/figures/judged_logits.hpp"

namespace gangway::worker {

/// Returns the name of the tensor of `pass` that `judged` judges, before augmentation and image
/// pool and without a paired picture. Empty if the job does not measure the spread.
[[nodiscard]] std::string judged_examples(const pipeline::Pass& pass, const JudgedLogits& judged,
                                          const Job& job);

/// Returns the figure's name.
[[nodiscard]] std::string spread_figure(const JudgedLogits& judged);

/// Returns the mean squared difference between each example and the next, cyclically.
[[nodiscard]] at::Tensor spread_of(const at::Tensor& examples);

}  // namespace gangway::worker
