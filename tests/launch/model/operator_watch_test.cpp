// SPDX-License-Identifier: MIT
#include "launch/model/compute/operator_watch.hpp"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::launch::operator_watch_test {
namespace {

OperatorSums sums_of(const std::function<void()>& body) {
  const OperatorWatch watch;
  body();
  return watch.sums();
}

TEST(OperatorWatch, CountsTwoOperationsForEachMultiplyAddOfAProduct) {
  const at::Tensor left = at::ones({3, 5});
  const at::Tensor right = at::ones({5, 7});
  EXPECT_EQ(sums_of([&] { (void)at::mm(left, right); }).operations, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(sums_of([&] { (void)at::matmul(left, at::ones({5})); }).operations, 2.0 * 3 * 5);
  EXPECT_EQ(sums_of([&] {
              (void)at::bmm(at::ones({2, 3, 5}), at::ones({2, 5, 7}));
            }).operations,
            2.0 * 2 * 3 * 5 * 7);
  // A layer is a product inside another operator, and counts once.
  EXPECT_EQ(sums_of([&] {
              (void)at::linear(left, at::ones({7, 5}), at::ones({7}));
            }).operations,
            2.0 * 3 * 5 * 7);
}

TEST(OperatorWatch, CountsEveryPlaceOfAKernelAlsoOutsideOfThePicture) {
  const at::Tensor large = at::ones({2, 3, 8, 10}).requires_grad_(true);
  const at::Tensor weight = at::ones({6, 3, 4, 4}).requires_grad_(true);
  const double once = 2.0 * (2 * 4 * 5) * (6 * 3 * 4 * 4);
  at::Tensor small;
  EXPECT_EQ(sums_of([&] { small = at::conv2d(large, weight, {}, 2, 1); }).operations, once);
  const at::Tensor gradient = at::ones_like(small);
  const auto pulled = [&](const std::vector<at::Tensor>& wanted) {
    return sums_of([&] { (void)torch::autograd::grad({small}, wanted, {gradient}, true); });
  };
  EXPECT_EQ(pulled({large}).operations, once);
  EXPECT_EQ(pulled({weight}).operations, once);
  EXPECT_EQ(pulled({large, weight}).operations, 2.0 * once);
  EXPECT_EQ(
      sums_of([&] { (void)at::conv_transpose2d(small.detach(), weight, {}, 2, 1); }).operations,
      once);
}

TEST(OperatorWatch, CountsAGroupsChannelsAlone) {
  const auto body = [] {
    (void)at::conv2d(at::ones({1, 8, 5, 5}), at::ones({4, 2, 3, 3}), {}, 1, 1, 1, 4);
  };
  EXPECT_EQ(sums_of(body).operations, 2.0 * 25 * (4 * 2 * 9));
}

TEST(OperatorWatch, CountsTensorsReadAndWrittenButNoViews) {
  const at::Tensor left = at::ones({4, 4});
  const at::Tensor right = at::ones({4, 4});
  constexpr double kTensor = 16.0 * 4.0;
  EXPECT_EQ(sums_of([&] { (void)at::add(left, right); }).bytes, 3.0 * kTensor);
  EXPECT_EQ(sums_of([&] { (void)left.relu_(); }).bytes, 2.0 * kTensor);
  EXPECT_EQ(sums_of([&] { (void)left.t(); }).bytes, 0.0);
  EXPECT_EQ(sums_of([&] { (void)at::empty({4, 4}); }).bytes, 0.0);
  EXPECT_EQ(sums_of([&] { (void)at::add(left, right); }).operations, 0.0);
}

TEST(OperatorWatch, CountsTensorsOfABackward) {
  const at::Tensor x = at::ones({4, 4}).requires_grad_(true);
  const at::Tensor y = at::mm(x, at::ones({4, 4}));
  const at::Tensor gradient = at::ones({4, 4});
  const auto backward = [&] { (void)torch::autograd::grad({y}, {x}, {gradient}); };
  EXPECT_EQ(sums_of(backward).bytes, 3.0 * 16.0 * 4.0);
}

TEST(OperatorWatch, TimesProductsAlone) {
  const at::Tensor square = at::ones({64, 64});
  EXPECT_GT(sums_of([&] { (void)at::mm(square, square); }).product_seconds, 0.0);
  EXPECT_EQ(sums_of([&] { (void)at::add(square, square); }).product_seconds, 0.0);
}

}  // namespace
}  // namespace gangway::launch::operator_watch_test
