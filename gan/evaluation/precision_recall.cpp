// SPDX-License-Identifier: MIT
#include "gan/evaluation/precision_recall.hpp"

#include <algorithm>

namespace gangway::gan {
namespace {

constexpr std::int64_t kRows = 500;  // at a time: 40 MB of distances to 10,000 points

/// Returns squared distances [a, b] of all rows, by |a|^2 + |b|^2 - 2 ab: one matrix product. In
/// double precision it rounds by some 1e-13 of the squares.
at::Tensor squared_distances(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor of_a = a.square().sum(1, /*keepdim=*/true);
  return (of_a + b.square().sum(1) - 2.0 * a.matmul(b.t())).clamp_min_(0.0);
}

}  // namespace

at::Tensor neighbour_radii(const at::Tensor& features, std::int64_t k) {
  const at::Tensor points = features.to(at::kDouble);
  const std::int64_t count = points.size(0);
  const at::Tensor radii = at::empty({count}, at::kDouble);
  for (std::int64_t first = 0; first < count; first += kRows) {
    const std::int64_t size = std::min(kRows, count - first);
    const at::Tensor distances = squared_distances(points.slice(0, first, first + size), points);
    distances.diagonal(first).zero_();  // the point itself counts as the first of k + 1
    radii.slice(0, first, first + size).copy_(std::get<0>(distances.kthvalue(k + 1, 1)));
  }
  return radii;
}

double covered_share(const at::Tensor& candidates, const at::Tensor& centres,
                     const at::Tensor& radii) {
  const at::Tensor points = candidates.to(at::kDouble);
  const at::Tensor balls = centres.to(at::kDouble);
  std::int64_t covered = 0;
  for (std::int64_t first = 0; first < points.size(0); first += kRows) {
    const at::Tensor rows = points.slice(0, first, std::min(first + kRows, points.size(0)));
    covered += (squared_distances(rows, balls) <= radii).any(1).sum().item<std::int64_t>();
  }
  return static_cast<double>(covered) / static_cast<double>(points.size(0));
}

PrecisionRecall precision_recall(const at::Tensor& real, const at::Tensor& generated,
                                 std::int64_t k) {
  return {.precision = covered_share(generated, real, neighbour_radii(real, k)),
          .recall = covered_share(real, generated, neighbour_radii(generated, k))};
}

}  // namespace gangway::gan
