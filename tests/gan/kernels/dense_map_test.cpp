// SPDX-License-Identifier: MIT
// Compares Gangway's large dense layers with LibTorch's, by their errors against double precision.
#include "gan/kernels/dense_map.hpp"

#include <memory>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan::dense_map_test {
namespace {

constexpr std::int64_t kIn = 1027;
constexpr std::int64_t kOut = 1031;

at::Tensor normal(std::int32_t draw, at::IntArrayRef shape) {
  return keyed_normal({.seed = 7, .draw = draw}, shape, at::kCPU);
}

struct CountedHook final : torch::autograd::PostAccumulateGradHook {
  explicit CountedHook(int& calls) : count(calls) {}
  void operator()(const torch::autograd::Variable& /*tensor*/) override { ++count; }
  int& count;
};

class DenseMap : public ::testing::TestWithParam<std::tuple<std::int64_t, at::ScalarType>> {
 protected:
  DenseMap()
      : x_(normal(0, {rows(), kIn}).to(type())),
        weight_(normal(1, {kOut, kIn})),
        gradient_(normal(2, {rows(), kOut}).to(type())) {
    weight_.requires_grad_(true);
    x_.requires_grad_(true);
  }
  [[nodiscard]] static std::int64_t rows() { return std::get<0>(GetParam()); }
  [[nodiscard]] static at::ScalarType type() { return std::get<1>(GetParam()); }

  void expect_as_near(const at::Tensor& ours, const at::Tensor& theirs, const at::Tensor& exact) {
    const double unit = exact.norm().item<double>();
    const auto error = [&](const at::Tensor& got) {
      return (got.detach().to(at::kDouble) - exact).norm().item<double>() / unit;
    };
    EXPECT_LE(error(ours), 2.0 * error(theirs) + 3e-7);
  }

  at::Tensor x_;
  at::Tensor weight_;
  at::Tensor gradient_;
};

TEST_P(DenseMap, IsAsNearToDoublePrecisionAsLibTorchs) {
  ASSERT_TRUE(is_large_map(x_, weight_));
  const at::Tensor before = normal(3, {kOut, kIn});
  weight_.mutable_grad() = before.clone();
  const at::Tensor y = map_densely(x_, weight_);
  torch::autograd::backward({y}, {gradient_});

  const at::Tensor x = x_.detach();
  const at::Tensor factor = weight_.detach().to(type());
  const at::Tensor wide_x = x.to(at::kDouble);
  const at::Tensor wide_factor = weight_.detach().to(at::kDouble);
  const at::Tensor wide_gradient = gradient_.to(at::kDouble);
  expect_as_near(y, at::linear(x, factor), wide_x.mm(wide_factor.t()));
  expect_as_near(x_.grad(), gradient_.mm(factor), wide_gradient.mm(wide_factor));
  expect_as_near(weight_.grad(), before + gradient_.t().mm(x),
                 before.to(at::kDouble) + wide_gradient.t().mm(wide_x));
}

TEST_P(DenseMap, AddsToTheGradientThatIsThereAndCallsItsHookOnce) {
  int calls = 0;
  torch::autograd::impl::set_post_acc_grad_hooks(weight_, std::make_unique<CountedHook>(calls));
  weight_.mutable_grad() = at::zeros({kOut, kIn});
  const void* const memory = weight_.grad().const_data_ptr();
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_});
  EXPECT_EQ(weight_.grad().const_data_ptr(), memory);
  EXPECT_FALSE(weight_.grad().is_sparse());
  EXPECT_EQ(calls, 1);
  const at::Tensor once = weight_.grad().clone();
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_});
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(at::allclose(weight_.grad(), 2.0 * once));
}

TEST_P(DenseMap, MakesAGradientWhereThereIsNone) {
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_});
  const at::Tensor made = weight_.grad().clone();
  EXPECT_EQ(made.scalar_type(), at::kFloat);
  weight_.mutable_grad() = at::zeros({kOut, kIn});
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_});
  EXPECT_TRUE(at::equal(made, weight_.grad()));
}

TEST_P(DenseMap, LeavesAWeightAloneWhoseGradientNobodyWants) {
  const at::Tensor before = normal(3, {kOut, kIn});
  weight_.mutable_grad() = before.clone();
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_}, std::nullopt, false, {x_});
  EXPECT_TRUE(at::equal(weight_.grad(), before));
}

INSTANTIATE_TEST_SUITE_P(Rows, DenseMap,
                         ::testing::Combine(::testing::Values(1, 32, 65),
                                            ::testing::Values(at::kFloat, at::kBFloat16)));

TEST_P(DenseMap, AddsToNoGradientThatIsOnlyAskedFor) {
  const at::Tensor before = normal(3, {kOut, kIn});
  weight_.mutable_grad() = before.clone();
  const at::Tensor asked =
      torch::autograd::grad({map_densely(x_, weight_)}, {weight_}, {gradient_})[0];
  EXPECT_TRUE(at::equal(weight_.grad(), before));
  weight_.mutable_grad() = at::zeros({kOut, kIn});
  torch::autograd::backward({map_densely(x_, weight_)}, {gradient_}, std::nullopt, false,
                            {weight_});
  EXPECT_TRUE(at::equal(weight_.grad(), asked));
}

TEST(DenseMapDerivatives, AreForLargeWeightsAlone) {
  EXPECT_FALSE(is_large_map(at::ones({2, 16}), at::ones({16, 16})));
  EXPECT_FALSE(is_large_map(at::ones({2, 1024}, at::kHalf), at::ones({1024, 1024})));
}

}  // namespace
}  // namespace gangway::gan::dense_map_test
