// SPDX-License-Identifier: MIT
// Compares convolutions and all their derivatives with LibTorch's, in float64.
#include "gan/kernels/convolution.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

namespace gangway::gan::convolution_test {

struct Shape {
  std::string name;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  ConvolutionPlaces places;
};

using Way = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                           const ConvolutionPlaces&);

at::Tensor of_libtorch(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, const ConvolutionPlaces& places) {
  return at::convolution(x, weight, bias, places.stride, places.padding, places.dilation,
                         places.is_transposed, places.output_padding, places.groups);
}

std::vector<Shape> shapes() {
  return {
      {"Plain", 3, 4, 3, 7, 5, {{1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1}},
      {"Halving", 2, 3, 4, 8, 10, {{2, 2}, {1, 1}, {1, 1}, false, {0, 0}, 1}},
      {"RowsLeftOver", 2, 3, 3, 8, 7, {{3, 2}, {0, 1}, {1, 1}, false, {0, 0}, 1}},
      {"Grouped", 4, 6, 3, 5, 5, {{1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 2}},
      {"Pointwise", 5, 3, 1, 4, 6, {{1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1}},
      {"Dilated", 2, 2, 3, 9, 8, {{1, 1}, {2, 2}, {2, 2}, false, {0, 0}, 1}},
      {"Transposed", 3, 2, 4, 4, 5, {{2, 2}, {1, 1}, {1, 1}, true, {0, 0}, 1}},
      {"TransposedLarger", 4, 6, 3, 4, 3, {{2, 2}, {1, 1}, {1, 1}, true, {1, 1}, 2}},
  };
}

/// Returns first derivatives by all inputs; derivatives of a penalty on the gradient of x; and of a
/// penalty on all gradients.
std::vector<at::Tensor> derivatives(Way way, const Shape& shape, bool has_bias) {
  at::manual_seed(7);
  const auto drawn = [](std::vector<std::int64_t> sizes) {
    return at::randn(sizes, at::kDouble).requires_grad_();
  };
  const bool is_up = shape.places.is_transposed;
  const at::Tensor x = drawn({2, shape.in, shape.height, shape.width});
  const at::Tensor weight =
      is_up ? drawn({shape.in, shape.out / shape.places.groups, shape.kernel, shape.kernel})
            : drawn({shape.out, shape.in / shape.places.groups, shape.kernel, shape.kernel});
  const at::Tensor bias = drawn({shape.out});
  std::vector<at::Tensor> inputs{x, weight};
  if (has_bias) {
    inputs.push_back(bias);
  }
  const at::Tensor y =
      way(x, weight, has_bias ? std::optional(bias) : std::nullopt, shape.places).pow(3);
  std::vector<at::Tensor> found = torch::autograd::grad({y.sum()}, inputs, {}, true);
  const auto add = [&found, &inputs](const at::Tensor& penalty) {
    for (const at::Tensor& each : torch::autograd::grad({penalty}, inputs, {}, true)) {
      found.push_back(each);
    }
  };
  add(torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0].pow(2).sum());
  at::Tensor all = at::zeros({}, at::kDouble);
  for (const at::Tensor& each : torch::autograd::grad({y.sum()}, inputs, {}, true, true)) {
    all = all + each.pow(2).sum();
  }
  add(all);
  return found;
}

class EveryConvolution : public ::testing::TestWithParam<Shape> {};

TEST_P(EveryConvolution, HasLibTorchsDerivatives) {
  for (const bool has_bias : {false, true}) {
    const std::vector<at::Tensor> ours = derivatives(convolved, GetParam(), has_bias);
    const std::vector<at::Tensor> theirs = derivatives(of_libtorch, GetParam(), has_bias);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].sizes(), theirs[i].sizes());
      EXPECT_LE((ours[i] - theirs[i]).abs().max().item<double>(),
                1e-12 * theirs[i].abs().max().item<double>())
          << "derivative " << i << (has_bias ? " with a bias" : "");
    }
  }
}

/// Runs in its own process, because the replacement holds for the whole process.
[[noreturn]] void replace_and_look() {
  derive_convolutions_well(c10::DispatchKey::AutogradCPU);
  derive_convolutions_well(c10::DispatchKey::AutogradCPU);
  const at::Tensor weight = at::ones({2, 1, 3, 3}).requires_grad_();
  const at::Tensor x = at::ones({1, 1, 5, 5}).requires_grad_();
  const at::Tensor plain = at::conv2d(x, weight);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor cast = at::conv2d(x, weight);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  const at::Tensor of_x = torch::autograd::grad({cast.sum()}, {x}, {}, true, true)[0];
  const at::Tensor of_weight = torch::autograd::grad({of_x.pow(2).sum()}, {weight})[0];
  const bool is_ours = plain.grad_fn()->name().find("gangway") != std::string::npos &&
                       cast.grad_fn()->name().find("gangway") != std::string::npos;
  std::exit(is_ours && cast.scalar_type() == at::kBFloat16 && of_x.scalar_type() == at::kFloat &&
                    of_weight.scalar_type() == at::kFloat && of_weight.sum().item<double>() > 0
                ? 0
                : 1);
}

TEST(DeriveConvolutionsWell, ReplacesLibTorchsKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(replace_and_look(), ::testing::ExitedWithCode(0), "^$");
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryConvolution, ::testing::ValuesIn(shapes()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace gangway::gan::convolution_test
