// SPDX-License-Identifier: MIT
// Generates pictures in evaluation mode (running statistics of BatchNorm) from keyed noise. Compute
// thread only.
#pragma once

#include <optional>
#include <span>

#include "gan/evaluation/fd_lenet.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// Inputs of a generator, one row for each example, on the CPU.
struct Latents {
  at::Tensor noise;   ///< [N, ModelSpec::inputs()]: includes latent codes, if any
  at::Tensor labels;  ///< int64 [N]; ignored by a model without classes
};

/// Returns the inputs of one example for each seed. @throws as generate_for_seeds
[[nodiscard]] Latents latents_of_seeds(const ModelSpec& model, std::span<const std::uint64_t> seeds,
                                       std::optional<std::int64_t> label = std::nullopt);
/// Returns `frames` examples from the first to the last of two. Noise moves on the arc between the
/// two, where a generator's noise lies (White, 2016, section 2.1), all else linearly; the label is
/// the first one's. @pre frames >= 2
[[nodiscard]] Latents latents_between(const ModelSpec& model, const Latents& ends, int frames);
/// Runs the generator in evaluation mode: [N, …].
[[nodiscard]] at::Tensor generate(Network& generator, const ModelSpec& model,
                                  const Latents& latents);

/// Generates one example for each seed, [seeds, …]. The noise depends on its seed s only, so other
/// seeds do not change a picture. Without `label` a conditional generator shows label s mod
/// classes; with latent codes, the category is s mod categories.
/// @throws ConfigError for a label that the model does not have
[[nodiscard]] at::Tensor generate_for_seeds(Network& generator, const ModelSpec& model,
                                            std::span<const std::uint64_t> seeds,
                                            std::optional<std::int64_t> label = std::nullopt);

/// Generates a grid of `side` x `side` examples of a model with latent codes, row by row. Each row
/// has one noise and, as category, its number; along it the first continuous code goes from -1 to
/// 1. Without such a code the columns differ by their noise.
[[nodiscard]] at::Tensor generate_code_grid(Network& generator, const ModelSpec& model, int side);

/// Returns the inputs of samples `first` to `first` + `count` - 1 of an evaluation.
[[nodiscard]] Latents evaluation_latents(const ModelSpec& model, std::uint64_t seed,
                                         std::int64_t first, std::int64_t count);
/// Returns the samples for evaluation: noise and labels of sample i depend on (seed, i) only, not
/// on batches. Images are in [-1, 1]. `generator` must outlive the source.
[[nodiscard]] ImageSource evaluation_samples(Network& generator, const ModelSpec& model,
                                             std::uint64_t seed);
/// Returns the labels of the first `count` of them, int64 [count]. @pre model.classes > 0
[[nodiscard]] at::Tensor evaluation_labels(const ModelSpec& model, std::uint64_t seed,
                                           std::int64_t count);

}  // namespace gangway::gan
