// SPDX-License-Identifier: MIT
// Keyed random numbers as tensors: row-major element i is draw i of the key (gan/random.hpp).
#pragma once

#include "gan/random.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Draws standard normals, float32. @throws InvariantError if the device has no generator
[[nodiscard]] at::Tensor keyed_normal(const RandomKey& key, at::IntArrayRef shape,
                                      at::Device device);
/// Draws uniform numbers in [0, 1), float32.
[[nodiscard]] at::Tensor keyed_uniform(const RandomKey& key, at::IntArrayRef shape,
                                       at::Device device);
/// Draws labels in [0, classes), int64 [count].
[[nodiscard]] at::Tensor keyed_labels(const RandomKey& key, std::int64_t count, int classes,
                                      at::Device device);

/// Draws latent codes, uniform in [-1, 1), float32 [count, codes].
[[nodiscard]] at::Tensor keyed_codes(const RandomKey& key, std::int64_t count, int codes,
                                     at::Device device);
/// Draws one-hot rows of uniform categories, float32 [count, categories].
[[nodiscard]] at::Tensor keyed_categories(const RandomKey& key, std::int64_t count, int categories,
                                          at::Device device);

/// Draws targets: 0 with probability `flipped`, else `target`; float32 [count].
[[nodiscard]] at::Tensor keyed_targets(const RandomKey& key, std::int64_t count, double target,
                                       double flipped, at::Device device);

/// A distribution that a device's generator can draw.
struct Distribution {
  enum class Kind { kNormal, kUniform, kBelow };
  Kind kind = Kind::kNormal;
  std::uint32_t bound = 0;  ///< of kBelow: integers in [0, bound)
};

/// Fills `out` (float32 or int64) on a device with the same draws as the CPU. Weak: defined in
/// programs that compute on a GPU (gan/cuda/random_on_device.cpp), null in all others.
[[gnu::weak]] void draw_on_device(const RandomKey& key, const Distribution& distribution,
                                  const at::Tensor& out);

}  // namespace gangway::gan
