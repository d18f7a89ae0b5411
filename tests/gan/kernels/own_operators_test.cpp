// SPDX-License-Identifier: MIT
// Compares LibTorch's operators inside a scope of Gangway's kernels with those outside, by their
// errors against double precision.
#include "gan/kernels/own_operators.hpp"

#include <functional>
#include <string>
#include <vector>

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan::own_operators_test {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

using Tensors = std::vector<at::Tensor>;

struct Case {
  std::string name;
  std::vector<std::vector<std::int64_t>> shapes;  // of the inputs; the first is x
  std::function<at::Tensor(const Tensors&)> apply;
  bool is_own = true;  // whether one of Gangway's kernels computes
};

at::Tensor normal(std::int32_t draw, at::IntArrayRef shape) {
  return keyed_normal({.seed = 7, .draw = draw}, shape, at::kCPU);
}

at::Tensor normed(const Tensors& in, bool is_training, double slope) {
  const at::Tensor mean = at::zeros({in[1].size(0)}, in[1].options());
  const at::Tensor variance = at::ones_like(mean);
  OwnOperators::join_activation(slope);
  const at::Tensor y =
      at::batch_norm(in[0], in[1], in[2], mean, variance, is_training, 0.1, 1e-5, true);
  return OwnOperators::end_joining() ? y : at::leaky_relu(y, slope);
}

std::vector<Case> cases() {
  const auto down = [](int stride, int padding, int dilation = 1) {
    return [=](const Tensors& in) {
      return at::conv2d(in[0], in[1], in.size() > 2 ? std::optional(in[2]) : std::nullopt, stride,
                        padding, dilation);
    };
  };
  const auto up = [](int stride, int padding, int larger = 0, int dilation = 1) {
    return [=](const Tensors& in) {
      return at::conv_transpose2d(in[0], in[1], in.size() > 2 ? std::optional(in[2]) : std::nullopt,
                                  stride, padding, larger, /*groups=*/1, dilation);
    };
  };
  const auto norm = [](bool is_training, double slope) {
    return [=](const Tensors& in) { return normed(in, is_training, slope); };
  };
  const auto dense = [](const Tensors& in) {
    return at::linear(in[0], in[1], in.size() > 2 ? std::optional(in[2]) : std::nullopt);
  };
  return {{"FewPlaces", {{4, 32, 8, 8}, {48, 32, 4, 4}, {48}}, down(2, 1)},
          {"ThinUp", {{3, 16, 8, 8}, {16, 1, 4, 4}, {1}}, up(2, 1)},
          {"ThinDown", {{3, 1, 9, 7}, {16, 1, 3, 3}}, down(2, 0)},
          {"Points", {{6, 10, 1, 1}, {10, 6, 4, 4}}, up(1, 0)},
          {"DilatedPoints", {{6, 10, 1, 1}, {10, 6, 4, 4}}, up(1, 0, 0, 2), false},
          {"Dense", {{5, 1024}, {1030, 1024}, {1030}}, dense},
          {"NormOfMaps", {{4, 20, 5, 3}, {20}, {20}}, norm(true, 0.2)},
          {"NormOfRows", {{9, 20}, {20}, {20}}, norm(true, 0.0)},
          {"NormInEvaluation", {{9, 20}, {20}, {20}}, norm(false, 0.2), false},
          {"Dilated", {{3, 16, 9, 9}, {16, 16, 3, 3}}, down(1, 1, 2)},
          {"LargerUp", {{3, 16, 5, 5}, {16, 1, 3, 3}}, up(2, 1, 1)},
          {"SmallDense", {{5, 16}, {16, 16}}, dense, false}};
}

class OwnOperatorsOn : public ::testing::TestWithParam<Case> {
 protected:
  /// Returns result, gradients, and the gradients of a penalty on the gradient of x.
  static Tensors outcome(at::ScalarType type) {
    Tensors inputs;
    for (std::size_t i = 0; i < GetParam().shapes.size(); ++i) {
      const at::Tensor one = normal(static_cast<std::int32_t>(i), GetParam().shapes[i]).to(type);
      inputs.push_back((one.dim() == 4 ? one.contiguous(kLast) : one).requires_grad_(true));
    }
    const at::Tensor y = GetParam().apply(inputs);
    const at::Tensor toward = normal(9, y.sizes()).to(type);
    Tensors found{y};
    for (const at::Tensor& each : torch::autograd::grad({y}, inputs, {toward}, true)) {
      found.push_back(each);
    }
    const at::Tensor of_x = torch::autograd::grad({y}, {inputs[0]}, {toward}, true, true)[0];
    for (const at::Tensor& each :
         torch::autograd::grad({of_x.pow(2).sum()}, inputs, {}, true, false, true)) {
      if (each.defined()) {
        found.push_back(each);
      }
    }
    return found;
  }

  static Tensors own_outcome() {
    const OwnOperators own(Owned::kAll);
    return outcome(at::kFloat);
  }
};

TEST_P(OwnOperatorsOn, AreAsNearToDoublePrecisionAsLibTorchs) {
  const Tensors exact = outcome(at::kDouble);
  const Tensors theirs = outcome(at::kFloat);
  const Tensors ours = own_outcome();
  ASSERT_EQ(ours.size(), exact.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto error = [&](const at::Tensor& got) {
      return (got.to(at::kDouble) - exact[i]).norm().item<double>() /
             (exact[i].norm().item<double>() + 1e-30);
    };
    EXPECT_LE(error(ours[i]), 2.0 * error(theirs[i]) + 1e-6) << i;
  }
}

TEST_P(OwnOperatorsOn, ComputeInTheScopeAlone) {
  const Tensors before = outcome(at::kFloat);
  const Tensors inside = own_outcome();
  const Tensors after = outcome(at::kFloat);
  bool is_equal = true;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(before[i], after[i])) << i;
    is_equal = is_equal && at::equal(before[i], inside[i]);
  }
  EXPECT_TRUE(is_equal || GetParam().is_own);
}

INSTANTIATE_TEST_SUITE_P(Operators, OwnOperatorsOn, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(OwnMaps, LeaveArgumentsThatDoNotFitToLibTorch) {
  const OwnOperators own(Owned::kAll);
  const auto last = [](at::IntArrayRef shape) { return normal(1, shape).contiguous(kLast); };
  const at::Tensor x = last({2, 64, 8, 8});
  EXPECT_THROW((void)at::conv2d(x, last({128, 64, 4, 4}), at::zeros({64}), 2, 1), c10::Error);
  EXPECT_THROW((void)at::conv_transpose2d(last({2, 16, 5, 5}), last({16, 1, 3, 3}), {}, 2, 1,
                                          /*output_padding=*/2),
               c10::Error);
  EXPECT_THROW((void)at::conv_transpose2d(last({2, 64, 1, 1}), last({64, 6, 4, 4}), at::zeros({1})),
               c10::Error);
  const at::Tensor row = at::ones({std::int64_t{1} << 20});
  EXPECT_EQ(at::linear(row.unsqueeze(0), row).item<float>(), static_cast<float>(row.numel()));
}

TEST(OwnNorms, MoveTheRunningMeansAsLibTorchDoes) {
  const at::Tensor x = normal(0, {6, 16, 3, 3}).contiguous(kLast);
  const auto moved = [&x] {
    const at::Tensor running = at::ones({2, 16});
    (void)at::batch_norm(x, at::ones({16}), at::zeros({16}), running[0], running[1], true, 0.3,
                         1e-5, true);
    return running;
  };
  const at::Tensor theirs = moved();
  const OwnOperators own(Owned::kAll);
  EXPECT_TRUE(at::allclose(moved(), theirs, 1e-5, 1e-6));
}

TEST(OwnNorms, JoinAnActivationOnlyIfOneIsAskedFor) {
  const OwnOperators own(Owned::kAll);
  const Tensors in{normal(0, {9, 20}), at::ones({20}), at::zeros({20})};
  const auto norm = [&in] {
    return at::batch_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-5, true);
  };
  EXPECT_LT(norm().min().item<float>(), 0.0F);
  EXPECT_FALSE(OwnOperators::end_joining());
  OwnOperators::join_activation(0.0);
  EXPECT_EQ(norm().min().item<float>(), 0.0F);
  EXPECT_TRUE(OwnOperators::end_joining());
  EXPECT_LT(norm().min().item<float>(), 0.0F);
}

TEST(OwnOperatorsUnderAutocast, MakeTheTypesThatAutocastMakes) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor x = normal(0, {5, 1024});
  const at::Tensor weight = normal(1, {1024, 1024}).requires_grad_(true);
  const at::Tensor theirs = at::linear(x, weight);
  const OwnOperators own(Owned::kAll);
  const at::Tensor ours = at::linear(x, weight);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(ours.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::allclose(ours.to(at::kFloat), theirs.to(at::kFloat), 1e-2, 0.5));
  weight.mutable_grad() = at::zeros({1024, 1024});
  torch::autograd::backward({ours.sum()});
  EXPECT_GT(weight.grad().norm().item<float>(), 0.0F);
}

}  // namespace
}  // namespace gangway::gan::own_operators_test
