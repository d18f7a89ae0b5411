// SPDX-License-Identifier: MIT
// Pictures from a generator in evaluation mode (running statistics of BatchNorm), with keyed noise.
// Compute thread only.
#pragma once

#include <optional>
#include <span>

#include "gan/evaluation/fd_lenet.hpp"
#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// What a generator is given, an example a row, on the CPU.
struct Latents {
  at::Tensor noise;   ///< [N, ModelSpec::inputs()]: with the latent codes, if the model has some
  at::Tensor labels;  ///< int64 [N]; ignored by a model without classes
};

/// Of one example a seed, as generate_for_seeds. @throws as that
[[nodiscard]] Latents latents_of_seeds(const ModelSpec& model, std::span<const std::uint64_t> seeds,
                                       std::optional<std::int64_t> label = std::nullopt);
/// `frames` examples from the first to the last of two: their noise on the arc between them, where
/// noise of a generator lies (White, 2016, section 2.1), all else in a straight line; the first
/// one's label. @pre frames >= 2
[[nodiscard]] Latents latents_between(const ModelSpec& model, const Latents& ends, int frames);
/// [N, …]. In evaluation mode.
[[nodiscard]] at::Tensor generate(Network& generator, const ModelSpec& model,
                                  const Latents& latents);

/// One example a seed, [seeds, …]: the noise of seed s depends on s alone, so it gives the same
/// picture whatever else is drawn with it. Without `label` a conditional generator shows label s
/// mod classes; where there are latent codes, the category is s mod categories.
/// @throws ConfigError for a label that the model does not have.
[[nodiscard]] at::Tensor generate_for_seeds(Network& generator, const ModelSpec& model,
                                            std::span<const std::uint64_t> seeds,
                                            std::optional<std::int64_t> label = std::nullopt);

/// Of a model with latent codes, `side` times `side` examples, row by row: each row has one noise
/// and one category, the row's number, along it the first continuous code goes from -1 to 1.
/// Without such a code the columns differ by their noise.
[[nodiscard]] at::Tensor generate_code_grid(Network& generator, const ModelSpec& model, int side);

/// The samples that evaluation looks at: noise and labels of sample i depend on (seed, i) alone,
/// whatever the batches. Images are in [-1, 1]. `generator` outlives the source.
[[nodiscard]] ImageSource evaluation_samples(Network& generator, const ModelSpec& model,
                                             std::uint64_t seed);
/// The labels that the first `count` of them were asked for, int64 [count]. @pre model.classes > 0
[[nodiscard]] at::Tensor evaluation_labels(const ModelSpec& model, std::uint64_t seed,
                                           std::int64_t count);

}  // namespace gangway::gan
