// SPDX-License-Identifier: MIT
// Keyed random numbers as tensors: element i of the row-major result is draw i of the key
// (gan/random.hpp).
#pragma once

#include "gan/random.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Standard normals, float32. @throws InvariantError for a device without a generator.
[[nodiscard]] at::Tensor keyed_normal(const RandomKey& key, at::IntArrayRef shape,
                                      at::Device device);
/// Uniform in [0, 1), float32.
[[nodiscard]] at::Tensor keyed_uniform(const RandomKey& key, at::IntArrayRef shape,
                                       at::Device device);
/// Labels in [0, classes), int64 [count].
[[nodiscard]] at::Tensor keyed_labels(const RandomKey& key, std::int64_t count, int classes,
                                      at::Device device);

}  // namespace gangway::gan
