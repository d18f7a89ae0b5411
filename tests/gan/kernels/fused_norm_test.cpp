// SPDX-License-Identifier: MIT
// Compares the fused norm with LibTorch's operators, by their errors against double precision.
#include "gan/kernels/fused_norm.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan::fused_norm_test {
namespace {

constexpr double kEpsilon = 1e-5;

struct Case {
  std::vector<std::int64_t> shape;
  at::MemoryFormat format = at::MemoryFormat::Contiguous;
  double slope = 0.0;
  double center = 0.0;  // mean of the elements, in deviations
};

struct Outcome {
  std::vector<at::Tensor> tensors;  // y, mean, variance, gradients of x, gain, shift
};

const std::vector<std::string> kNames{"y", "mean", "variance", "of x", "of gain", "of shift"};

at::Tensor normal(std::int32_t draw, at::IntArrayRef shape) {
  return keyed_normal({.seed = 7, .draw = draw}, shape, at::kCPU);
}

struct Inputs {
  explicit Inputs(const Case& with, at::ScalarType type)
      : x((normal(0, with.shape) + with.center).to(type).contiguous(with.format)),
        gain(normal(1, {with.shape[1]}) * 0.5 + 1.0),
        shift(normal(2, {with.shape[1]})),
        gradient(normal(3, with.shape).to(type).contiguous(with.format)) {}
  at::Tensor x;
  at::Tensor gain;
  at::Tensor shift;
  at::Tensor gradient;
};

at::Tensor leaf(const at::Tensor& x, std::optional<at::ScalarType> type) {
  return (type ? x.to(*type) : x).detach().clone().requires_grad_(true);
}

/// Computes with LibTorch's operators, in `type` if given.
Outcome plain(const Inputs& with, double slope, std::optional<at::ScalarType> type = {}) {
  const at::Tensor x = leaf(with.x, type);
  const at::Tensor gain = leaf(with.gain, type);
  const at::Tensor shift = leaf(with.shift, type);
  at::Tensor mean = at::zeros_like(gain).detach();
  at::Tensor variance = at::zeros_like(mean);
  const at::Tensor y = at::leaky_relu(
      at::batch_norm(x, gain, shift, mean, variance, true, 1.0, kEpsilon, true), slope);
  const auto gradients = torch::autograd::grad({y}, {x, gain, shift},
                                               {type ? with.gradient.to(*type) : with.gradient});
  return {{y, mean, variance, gradients[0], gradients[1], gradients[2]}};
}

Outcome fused(const Inputs& with, double slope) {
  const at::Tensor x = leaf(with.x, {});
  const at::Tensor gain = leaf(with.gain, {});
  const at::Tensor shift = leaf(with.shift, {});
  EXPECT_TRUE(can_norm(x, gain));
  const NormedFeatures made = normed_and_activated(x, gain, shift, kEpsilon, slope);
  EXPECT_EQ(made.features.strides(), x.strides());
  EXPECT_FALSE(made.mean.requires_grad());
  const auto gradients = torch::autograd::grad({made.features}, {x, gain, shift}, {with.gradient});
  return {{made.features, made.mean, made.variance, gradients[0], gradients[1], gradients[2]}};
}

double error(const at::Tensor& got, const at::Tensor& wanted) {
  return (got.to(at::kDouble) - wanted).square().mean().sqrt().item<double>() /
         (wanted.square().mean().sqrt().item<double>() + 1e-30);
}

std::vector<Case> cases() {
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  return {{.shape = {32, 1024}, .slope = 0.2},
          {.shape = {2, 7}, .slope = 0.2},
          {.shape = {33, 83}, .slope = 1.0},
          {.shape = {5, 3, 1, 1}, .format = kLast},
          {.shape = {64, 64, 4, 4}, .format = kLast},
          {.shape = {9, 69, 5, 3}, .format = kLast, .slope = 0.2},
          {.shape = {16, 130, 8, 8}, .format = kLast, .slope = 0.2, .center = 30.0},
          {.shape = {8, 64, 8, 8}, .slope = 0.2},
          {.shape = {3, 5, 7, 9}, .slope = 0.2, .center = 30.0},
          {.shape = {2, 3, 40, 41}}};
}

class FusedNorm : public ::testing::TestWithParam<Case> {};

void expect_as_near_to_double_precision(const Case& one, at::ScalarType type) {
  const Inputs in(one, type);
  const Outcome exact = plain(in, one.slope, at::kDouble);
  const Outcome theirs = plain(in, one.slope);
  const Outcome ours = fused(in, one.slope);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    // The floor: LibTorch may be exact in some small sums.
    EXPECT_LE(error(ours.tensors[i], exact.tensors[i]),
              2.0 * error(theirs.tensors[i], exact.tensors[i]) + 3e-7)
        << kNames[i];
  }
}

TEST_P(FusedNorm, IsAsNearToDoublePrecisionAsLibTorchsOperators) {
  expect_as_near_to_double_precision(GetParam(), at::kFloat);
}

TEST_P(FusedNorm, IsAsNearToItInBf16) {
  expect_as_near_to_double_precision(GetParam(), at::kBFloat16);
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedNorm, ::testing::ValuesIn(cases()));

TEST(FusedNormBits, DependOnTheChannelAlone) {
  const Inputs in({.shape = {6, 200, 3, 3}, .format = at::MemoryFormat::ChannelsLast}, at::kFloat);
  const at::Tensor all = normed_and_activated(in.x, in.gain, in.shift, kEpsilon, 0.2).features;
  for (const std::int64_t first : {0, 64, 137}) {
    const at::Tensor part =
        normed_and_activated(in.x.narrow(1, first, 63).contiguous(at::MemoryFormat::ChannelsLast),
                             in.gain.narrow(0, first, 63).contiguous(),
                             in.shift.narrow(0, first, 63).contiguous(), kEpsilon, 0.2)
            .features;
    EXPECT_TRUE(at::equal(part, all.narrow(1, first, 63))) << first;
  }
}

TEST(FusedNormBits, LeaveWhatComesInAsItWas) {
  const Inputs in({.shape = {4, 20}}, at::kFloat);
  const at::Tensor before = in.x.clone();
  (void)normed_and_activated(in.x, in.gain, in.shift, kEpsilon, 0.0);
  EXPECT_TRUE(at::equal(in.x, before));
}

TEST(FusedNormBits, KeepWhatIsNoNumber) {
  Inputs in({.shape = {4, 20}}, at::kBFloat16);
  in.x[2][3] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor y = normed_and_activated(in.x, in.gain, in.shift, kEpsilon, 0.0).features;
  EXPECT_TRUE(y.select(1, 3).isnan().all().item<bool>());
  EXPECT_FALSE(y.select(1, 4).isnan().any().item<bool>());
}

}  // namespace
}  // namespace gangway::gan::fused_norm_test
