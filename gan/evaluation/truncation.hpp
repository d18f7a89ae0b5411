// SPDX-License-Identifier: MIT
// Fewer kinds of pictures, and better ones: the truncation trick in W (Karras et al., 2019,
// appendix B), for `gangway sample --truncation`. Compute thread only.
#pragma once

#include "gan/evaluation/generate.hpp"

namespace gangway::gan {

/// Whether the shown network maps its noise to styles, which have a mean.
[[nodiscard]] bool has_styles(const Job& job);

class Truncation {
 public:
  /// Looks at the styles of seeds 0 to 9,999, each with its label. Borrows both.
  /// @pre has_styles of the job that `generator` is of
  Truncation(Network& generator, const ModelSpec& model);
  /// [N, …], as generate, of styles mean + psi (style - mean). With psi 1 the same bits as that,
  /// with 0 the same picture for each noise.
  [[nodiscard]] at::Tensor generate(const Latents& latents, double psi) const;

 private:
  [[nodiscard]] NamedTensors mapped(const Latents& latents) const;

  Network& generator_;
  const ModelSpec& model_;
  at::Tensor mean_;  // [1, places, features]
};

}  // namespace gangway::gan
