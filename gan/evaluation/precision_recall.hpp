// SPDX-License-Identifier: MIT
// Precision (share of generated examples near real ones) and recall (share of real examples near
// generated ones). Source: Kynkäänniemi et al., "Improved Precision and Recall Metric for Assessing
// Generative Models", 2019, section 2. Used by `gangway-model evaluate`. Any thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kManifoldNeighbour = 3;  ///< k; the paper's choice, section 3

/// Returns each row's squared distance to its k-th nearest other row: [N], float64. Compares all
/// pairs, a block of rows at a time.
/// @param features [N, d], any float type  @pre N > k
[[nodiscard]] at::Tensor neighbour_radii(const at::Tensor& features,
                                         std::int64_t k = kManifoldNeighbour);

/// Returns the share of `candidates` within the ball of at least one row of `centres` (eq. 1, 2).
/// @param radii  result of neighbour_radii(centres)
[[nodiscard]] double covered_share(const at::Tensor& candidates, const at::Tensor& centres,
                                   const at::Tensor& radii);

struct PrecisionRecall {
  double precision = 0.0;  ///< generated examples among the real ones
  double recall = 0.0;     ///< real examples among the generated ones
};

/// @param real, generated  [N, d] each; the results depend on N, so compare equal N only
[[nodiscard]] PrecisionRecall precision_recall(const at::Tensor& real, const at::Tensor& generated,
                                               std::int64_t k = kManifoldNeighbour);

}  // namespace gangway::gan
