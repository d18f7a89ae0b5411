// SPDX-License-Identifier: MIT
#include "gan/evaluation/precision_recall.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

using Point = std::vector<double>;

at::Tensor line_of(const std::vector<double>& places) {
  return at::tensor(places, at::kDouble).unsqueeze(1);
}

at::Tensor normal_points(std::uint64_t seed, at::IntArrayRef shape) {
  return keyed_normal({.seed = seed}, shape, at::kCPU);
}

std::vector<Point> points_of(const at::Tensor& features) {
  std::vector<Point> points;
  for (std::int64_t i = 0; i < features.size(0); ++i) {
    const at::Tensor row = features[i].to(at::kDouble).contiguous();
    points.emplace_back(row.const_data_ptr<double>(), row.const_data_ptr<double>() + row.numel());
  }
  return points;
}

double squared_distance(const Point& a, const Point& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

/// Computes the definition, pair by pair.
std::vector<double> plain_radii(const std::vector<Point>& points, std::size_t k) {
  std::vector<double> radii;
  for (const Point& point : points) {
    std::vector<double> distances;
    for (const Point& other : points) {
      distances.push_back(squared_distance(point, other));
    }
    std::ranges::sort(distances);
    radii.push_back(distances[k]);  // the first is the point's own
  }
  return radii;
}

double plain_share(const std::vector<Point>& candidates, const std::vector<Point>& centres,
                   std::size_t k) {
  const std::vector<double> radii = plain_radii(centres, k);
  const auto is_covered = [&](const Point& candidate) {
    for (std::size_t i = 0; i < centres.size(); ++i) {
      if (squared_distance(candidate, centres[i]) <= radii[i]) {
        return true;
      }
    }
    return false;
  };
  return static_cast<double>(std::ranges::count_if(candidates, is_covered)) /
         static_cast<double>(candidates.size());
}

TEST(PrecisionRecall, OfPointsOnALineIsThatByHand) {
  const at::Tensor real = line_of({0.0, 1.0, 2.0, 3.0});        // balls of radius 1: from -1 to 4
  const at::Tensor generated = line_of({5.0, 3.5, 3.75, 9.0});  // no ball reaches 3
  EXPECT_TRUE(at::equal(neighbour_radii(generated, 1),
                        at::tensor({1.5625, 0.0625, 0.0625, 16.0}, at::kDouble)));
  const PrecisionRecall result = precision_recall(real, generated, 1);
  EXPECT_DOUBLE_EQ(result.precision, 0.5);
  EXPECT_DOUBLE_EQ(result.recall, 0.0);
  EXPECT_DOUBLE_EQ(precision_recall(real, line_of({3.5, 6.0}), 1).recall, 0.75);  // from 1
}

TEST(PrecisionRecall, IsWhatTheDefinitionGivesOnMorePointsThanABlockHolds) {
  const at::Tensor real = normal_points(1, {1100, 6});
  const at::Tensor generated = normal_points(2, {700, 6}) * 0.8 + 0.3;
  const std::vector<Point> real_points = points_of(real);
  const std::vector<Point> generated_points = points_of(generated);
  const PrecisionRecall result = precision_recall(real, generated);
  EXPECT_DOUBLE_EQ(result.precision, plain_share(generated_points, real_points, 3));
  EXPECT_DOUBLE_EQ(result.recall, plain_share(real_points, generated_points, 3));
  EXPECT_TRUE(
      at::allclose(neighbour_radii(real), at::tensor(plain_radii(real_points, 3), at::kDouble)));
  EXPECT_LT(result.recall, result.precision);
}

TEST(PrecisionRecall, OfASetWithItselfIsOne) {
  const at::Tensor features = normal_points(1, {600, 8}).relu();
  const PrecisionRecall result = precision_recall(features, features);
  EXPECT_EQ(result.precision, 1.0);
  EXPECT_EQ(result.recall, 1.0);
}

TEST(PrecisionRecall, OfAGeneratorThatRepeatsOneGoodPictureIsPreciseAndRecallsNothing) {
  const at::Tensor real = normal_points(1, {200, 8});
  const PrecisionRecall result = precision_recall(real, real[7].expand({200, 8}) + 0.01);
  EXPECT_EQ(result.precision, 1.0);
  EXPECT_EQ(result.recall, 0.0);
}

TEST(PrecisionRecall, OfSetsFarApartIsZero) {
  const PrecisionRecall result =
      precision_recall(normal_points(1, {200, 8}), normal_points(2, {200, 8}) + 100.0);
  EXPECT_EQ(result.precision, 0.0);
  EXPECT_EQ(result.recall, 0.0);
}

}  // namespace
}  // namespace gangway::gan
