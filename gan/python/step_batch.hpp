// SPDX-License-Identifier: MIT
// Examples in the order of training, as a step of the user's own gets them. Any thread.
#pragma once

#include <cstdint>

#include "gan/data/dataset.hpp"
#include "gan/named_tensors.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Copies, as LibTorch aligns its own: kernels may compute other bits of what lies elsewhere.
[[nodiscard]] NamedTensors named_tensors(const data::NamedBatch& batch);

/// "image", float32 [count, C, H, W] in [-1, 1] (points [count, 2]), and where the job has classes
/// "label", int64 [count]; or what data in Python call theirs, of any type and rank.
/// @param first  place in the first data pass. @throws ConfigError of a file that cannot be read
[[nodiscard]] NamedTensors step_batch(const Job& job, const data::Dataset& dataset,
                                      std::int64_t first, std::int64_t count);

}  // namespace gangway::gan
