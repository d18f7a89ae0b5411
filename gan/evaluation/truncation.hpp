// SPDX-License-Identifier: MIT
// The truncation trick in W (Karras et al., 2019, appendix B): less variety, better pictures. For
// `gangway sample --truncation`. Compute thread only.
#pragma once

#include "gan/evaluation/generate.hpp"

namespace gangway::gan {

/// Returns whether the job's shown network maps noise to styles, which have a mean.
[[nodiscard]] bool has_styles(const Job& job);

class Truncation {
 public:
  /// Averages the styles of seeds 0 to 9,999, each with its label. Borrows both.
  /// @pre has_styles of the job of `generator`
  Truncation(Network& generator, const ModelSpec& model);
  /// Generates [N, …] from styles mean + psi (style - mean). psi 1 gives the bits of generate(),
  /// psi 0 the same picture for each noise.
  [[nodiscard]] at::Tensor generate(const Latents& latents, double psi) const;

 private:
  [[nodiscard]] NamedTensors mapped(const Latents& latents) const;

  Network& generator_;
  const ModelSpec& model_;
  at::Tensor mean_;  // [1, places, features]
};

}  // namespace gangway::gan
