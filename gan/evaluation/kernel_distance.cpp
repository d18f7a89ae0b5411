// SPDX-License-Identifier: MIT
#include "gan/evaluation/kernel_distance.hpp"

#include <algorithm>
#include <cmath>

#include "data/permutation.hpp"

namespace gangway::gan {
namespace {

/// Returns the kernel of all pairs of rows: [a, b].
at::Tensor cubic_kernel(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor base = a.matmul(b.t()) / static_cast<double>(a.size(1)) + 1.0;
  return base * base * base;
}

/// Returns the kernel's mean over pairs of different rows.
double mean_of_others(const at::Tensor& points) {
  const at::Tensor kernel = cubic_kernel(points, points);
  const auto count = static_cast<double>(points.size(0));
  return (kernel.sum() - kernel.trace()).item<double>() / (count * (count - 1.0));
}

/// Returns the first `size` rows in the `part`-th permutation.
at::Tensor rows_of_part(const at::Tensor& points, const KernelSubsets& subsets, std::int64_t part) {
  const std::int64_t size = std::min(subsets.size, points.size(0));
  const data::KeyedPermutation order(subsets.seed, part, points.size(0));
  const at::Tensor rows = at::empty({size}, at::kLong);
  auto* indices = rows.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    indices[i] = order(i);
  }
  return points.index_select(0, rows).to(at::kDouble);
}

}  // namespace

double squared_mmd(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.to(at::kDouble);
  const at::Tensor y = b.to(at::kDouble);
  return mean_of_others(x) + mean_of_others(y) - 2.0 * cubic_kernel(x, y).mean().item<double>();
}

KernelDistance kernel_distance(const at::Tensor& real, const at::Tensor& generated,
                               const KernelSubsets& subsets) {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  for (std::int64_t i = 0; i < subsets.count; ++i) {
    // Uses two permutations a pair, so that equal sets are not compared row by equal row.
    const double value = squared_mmd(rows_of_part(real, subsets, 2 * i),
                                     rows_of_part(generated, subsets, 2 * i + 1));
    sum += value;
    sum_of_squares += value * value;
  }
  const auto count = static_cast<double>(subsets.count);
  const double mean = sum / count;
  return {.mean = mean,
          .deviation = std::sqrt(std::max(0.0, sum_of_squares / count - mean * mean))};
}

}  // namespace gangway::gan
