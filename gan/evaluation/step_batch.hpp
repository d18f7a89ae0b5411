// SPDX-License-Identifier: MIT
// Examples in the order of training, as named tensors. Any thread.
#pragma once

#include <cstdint>

#include "data/dataset.hpp"
#include "gan/named_tensors.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Copies the tensors into LibTorch's alignment because kernels may compute other bits for others.
[[nodiscard]] NamedTensors named_tensors(const data::NamedBatch& batch);

/// Returns "image", float32 [count, C, H, W] in [-1, 1] (points [count, 2]), and, if the job has
/// classes, "label", int64 [count]. For data in Python, returns their own named tensors.
/// @param first  place in the first data pass. @throws ConfigError for an unreadable file
[[nodiscard]] NamedTensors step_batch(const Job& job, const data::Dataset& dataset,
                                      std::int64_t first, std::int64_t count);

}  // namespace gangway::gan
