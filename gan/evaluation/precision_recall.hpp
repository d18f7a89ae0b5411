// SPDX-License-Identifier: MIT
// How much of what a generator makes lies among real examples, and how much of the real ones lies
// among what it makes (Kynkäänniemi et al., "Improved Precision and Recall Metric for Assessing
// Generative Models", 2019, section 2). Used by `gangway-model evaluate`. Any thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kManifoldNeighbour = 3;  ///< k; the paper's choice, section 3

/// Distance of each row to its k-th nearest other row, squared: [N], float64. All pairs are looked
/// at, a block of rows at a time.
/// @param features [N, d], any float type  @pre N > k
[[nodiscard]] at::Tensor neighbour_radii(const at::Tensor& features,
                                         std::int64_t k = kManifoldNeighbour);

/// Share of `candidates` that lie within the ball of at least one row of `centres` (eq. 1 and 2).
/// @param radii what `neighbour_radii(centres)` returned
[[nodiscard]] double covered_share(const at::Tensor& candidates, const at::Tensor& centres,
                                   const at::Tensor& radii);

struct PrecisionRecall {
  double precision = 0.0;  ///< generated examples among the real ones
  double recall = 0.0;     ///< real examples among the generated ones
};

/// @param real, generated [N, d] each; both depend on N, so compare values of equal N only
[[nodiscard]] PrecisionRecall precision_recall(const at::Tensor& real, const at::Tensor& generated,
                                               std::int64_t k = kManifoldNeighbour);

}  // namespace gangway::gan
