// SPDX-License-Identifier: MIT
// Compares the blocks of image-to-image networks with LibTorch's functions.
#include "gan/blocks/translation_blocks.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/layer_block.hpp"

namespace gangway::gan {
namespace {

at::Tensor wave(at::IntArrayRef shape, double phase = 0.0) {
  return (at::arange(at::empty(shape).numel(), at::kDouble) * 0.37 + phase).sin().reshape(shape);
}

/// Fills a block's tensors with values of double precision.
void fill(Block& block) {
  double phase = 1.0;
  for (Parameter& parameter : block.parameters()) {
    parameter.tensor.set_data(wave(parameter.tensor.sizes(), phase += 1.0) * 0.3);
  }
}

at::Tensor normalized(const at::Tensor& x) {
  return at::instance_norm(x, {}, {}, {}, {}, /*use_input_stats=*/true, 0.1, kNormEpsilon, false);
}

const at::Tensor& weight(Block& block, std::size_t index) {
  return block.parameters()[index].tensor;
}

/// Compares values, and first and second derivatives by the input.
void expect_equal(Block& block, const at::Tensor& input,
                  const std::function<at::Tensor(const at::Tensor&)>& reference,
                  const std::string& name = "features") {
  const auto derivatives = [&](const std::function<at::Tensor(const at::Tensor&)>& function) {
    const at::Tensor x = input.clone().requires_grad_(true);
    const at::Tensor y = function(x);
    const at::Tensor first =
        torch::autograd::grad({(y * wave(y.sizes(), 0.5)).sum()}, {x}, {}, true, true)[0];
    const at::Tensor second = torch::autograd::grad({first.square().sum()}, {x})[0];
    return std::vector<at::Tensor>{y, first, second};
  };
  const auto found = derivatives([&](const at::Tensor& x) {
    return block.forward({{name, x}}, {}).at("features");
  });
  const auto expected = derivatives(reference);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double largest = expected[i].abs().max().item<double>();
    EXPECT_GT(largest, 0.0) << i;
    EXPECT_LE((found[i] - expected[i]).abs().max().item<double>(), 1e-11 * largest) << i;
  }
}

TEST(InstanceLayer, MirrorsNormalizesAndActivates) {
  InstanceLayer block({.in = 2, .out = 3, .kernel = 7, .padding = 3, .border = Border::kMirror});
  fill(block);
  expect_equal(block, wave({2, 2, 9, 8}), [&](const at::Tensor& x) {
    return at::relu(normalized(
        at::conv2d(at::reflection_pad2d(x, {3, 3, 3, 3}), weight(block, 0), weight(block, 1))));
  });
}

TEST(InstanceLayer, DoublesASideByATransposedConvolution) {
  InstanceLayer block({.kind = LayerKind::kTransposedConvolution,
                       .in = 3,
                       .out = 2,
                       .stride = 2,
                       .output_padding = 1,
                       .activation = Activation::kTanh});
  fill(block);
  EXPECT_EQ(block.forward({{"features", wave({1, 3, 4, 4})}}, {}).at("features").size(3), 8);
  expect_equal(block, wave({1, 3, 4, 4}), [&](const at::Tensor& x) {
    return at::tanh(normalized(
        at::conv_transpose2d(x, weight(block, 0), weight(block, 1), 2, 1, /*output_padding=*/1)));
  });
}

TEST(InstanceResidual, AddsTwoNormalizedConvolutions) {
  InstanceResidual block({.channels = 2});
  fill(block);
  expect_equal(block, wave({2, 2, 6, 6}), [&](const at::Tensor& x) {
    const auto convolved = [&](const at::Tensor& y, std::size_t first) {
      return normalized(at::conv2d(at::reflection_pad2d(y, {1, 1, 1, 1}), weight(block, first),
                                   weight(block, first + 1)));
    };
    return x + convolved(at::relu(convolved(x, 0)), 2);
  });
}

TEST(Skip, PutsWhatIsAboveZeroBeforeTheFeatures) {
  Skip block({.skip = "skip1"});
  const at::Tensor skip = wave({1, 2, 3, 3});
  const at::Tensor features = wave({1, 1, 3, 3}, 0.7);
  const at::Tensor both =
      block.forward({{"features", features}, {"skip1", skip}}, {}).at("features");
  EXPECT_TRUE(both.equal(at::cat({skip.clamp_min(0.0), features}, 1)));
}

}  // namespace
}  // namespace gangway::gan
