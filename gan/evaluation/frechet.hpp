// SPDX-License-Identifier: MIT
// Fréchet distance between two sets of feature vectors, modelled as Gaussians. Any thread; double
// precision.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// Mean and covariance of a set of feature vectors.
struct FeatureStatistics {
  at::Tensor mean;        ///< [d], float64
  at::Tensor covariance;  ///< [d, d], float64, unbiased
};

/// @param features [N, d], any float type, N >= 2
[[nodiscard]] FeatureStatistics feature_statistics(const at::Tensor& features);

/// |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)) (Dowson and Landau, 1982, eq. 4; Heusel et al.,
/// 2017, eq. 6).
///
/// The last trace is the sum of the singular values of S1^(1/2) S2^(1/2), with roots by
/// eigendecomposition. It equals tr((S1^(1/2) S2 S1^(1/2))^(1/2)) without the second root, which
/// would turn rounding errors of 1e-16 into 1e-8 for features that never vary. Symmetric in its
/// arguments.
[[nodiscard]] double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b);

}  // namespace gangway::gan
