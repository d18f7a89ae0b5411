// SPDX-License-Identifier: MIT
#include "gan/evaluation/frechet.hpp"

namespace gangway::gan {
namespace {

/// Square root of a symmetric positive semidefinite matrix; eigenvalues that rounding made negative
/// count as zero.
at::Tensor symmetric_root(const at::Tensor& matrix) {
  const auto [values, vectors] = at::linalg_eigh(matrix);
  return (vectors * values.clamp_min(0.0).sqrt()).matmul(vectors.t());
}

}  // namespace

FeatureStatistics feature_statistics(const at::Tensor& features) {
  const at::Tensor x = features.to(at::kDouble);
  const at::Tensor mean = x.mean(0);
  const at::Tensor centred = x - mean;
  return {mean, centred.t().matmul(centred) / static_cast<double>(x.size(0) - 1)};
}

double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b) {
  const auto means = (a.mean - b.mean).square().sum().item<double>();
  const double traces = a.covariance.trace().item<double>() + b.covariance.trace().item<double>();
  const at::Tensor product = symmetric_root(a.covariance).matmul(symmetric_root(b.covariance));
  return means + traces - 2.0 * at::linalg_svdvals(product).sum().item<double>();
}

}  // namespace gangway::gan
