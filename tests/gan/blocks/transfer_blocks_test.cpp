// SPDX-License-Identifier: MIT
// Compares blocks of style transfer with LibTorch's padding, pooling and normalization, with both
// derivatives, in double precision.
#include "gan/blocks/transfer_blocks.hpp"

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "job/families/families.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

constexpr double kPrecision = 1e-12;

at::Tensor numbers(at::IntArrayRef shape, double salt) {
  return at::arange(c10::multiply_integers(shape), at::kDouble).mul(salt).sin().reshape(shape);
}

/// Fills the block's parameters with different values in double precision.
void fill(Block& block) {
  double salt = 0.7;
  for (Parameter& parameter : block.parameters()) {
    parameter.tensor.set_data(numbers(parameter.tensor.sizes(), salt += 0.37));
  }
}

at::Tensor value_of(Block& block, std::string_view name) {
  for (Parameter& parameter : block.parameters()) {
    if (parameter.name == name) {
      return parameter.tensor;
    }
  }
  return {};
}

double apart(const at::Tensor& one, const at::Tensor& other) {
  return (one - other).abs().max().item<double>();
}

/// Expects equal values, and equal first and second derivatives by `from`.
void expect_same(const at::Tensor& made, const at::Tensor& plain,
                 const std::vector<at::Tensor>& from) {
  ASSERT_EQ(made.sizes(), plain.sizes());
  EXPECT_LE(apart(made, plain), kPrecision);
  const auto derivatives = [&](const at::Tensor& of) {
    const std::vector<at::Tensor> first = torch::autograd::grad(
        {(of * of * of).sum()}, from, {}, /*retain_graph=*/true, /*create_graph=*/true);
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const at::Tensor& one : first) {
      sum = sum + one.square().sum();
    }
    std::vector<at::Tensor> all = torch::autograd::grad({sum}, from, {}, /*retain_graph=*/true,
                                                        /*create_graph=*/false,
                                                        /*allow_unused=*/true);
    all.insert(all.end(), first.begin(), first.end());
    return all;
  };
  const std::vector<at::Tensor> found = derivatives(made);
  const std::vector<at::Tensor> expected = derivatives(plain);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].defined(), expected[i].defined()) << i;
    if (found[i].defined()) {
      const double largest = std::max(1.0, expected[i].abs().max().item<double>());
      EXPECT_LE(apart(found[i], expected[i]) / largest, kPrecision) << i;
    }
  }
}

at::Tensor plain_convolution(Block& block, const at::Tensor& x, const std::string& name,
                             const std::string& norm, std::int64_t stride) {
  const at::Tensor weight = value_of(block, name + "weight");
  const std::int64_t pixels = weight.size(2) / 2;
  const at::Tensor y = at::conv2d(at::reflection_pad2d(x, {pixels, pixels, pixels, pixels}), weight,
                                  value_of(block, name + "bias"), stride);
  if (norm.empty()) {
    return y;
  }
  const at::Tensor mean = y.mean({2, 3}, true);
  const at::Tensor variance = (y - mean).square().mean({2, 3}, true);
  const at::Tensor gain = value_of(block, norm + "weight").reshape({1, -1, 1, 1});
  const at::Tensor shift = value_of(block, norm + "bias").reshape({1, -1, 1, 1});
  return (y - mean) / (variance + 1e-5).sqrt() * gain + shift;
}

TEST(Reflected, IsLibtorchsPadding) {
  const at::Tensor x = numbers({2, 3, 6, 5}, 0.9);
  for (const std::int64_t pixels : {1, 2, 4}) {
    EXPECT_TRUE(
        at::equal(reflected(x, pixels), at::reflection_pad2d(x, {pixels, pixels, pixels, pixels})));
  }
  EXPECT_TRUE(at::equal(reflected(x, 0), x));
}

TEST(TransferLayers, AreTheirFormulaWithBothDerivatives) {
  for (const bool doubles : {false, true}) {
    TransferLayer block({.in = 2, .out = 3, .stride = doubles ? 1 : 2, .doubles = doubles});
    fill(block);
    const at::Tensor x = numbers({2, 2, 6, 6}, 1.3).requires_grad_(true);
    const at::Tensor wide =
        doubles ? x.repeat_interleave(2, 2).repeat_interleave(2, 3) : at::Tensor(x);
    expect_same(block.forward({{"features", x}}, {}).at("features"),
                plain_convolution(block, wide, "", "norm.", doubles ? 1 : 2).clamp_min(0.0),
                {x, value_of(block, "weight"), value_of(block, "norm.weight"),
                 value_of(block, "norm.bias")});
  }
}

TEST(TransferLayers, EndInATanhWithoutANorm) {
  TransferLayer block({.in = 2,
                       .out = 1,
                       .kernel = 5,
                       .normalizes = false,
                       .activation = Activation::kTanh,
                       .input = "image"});
  fill(block);
  const at::Tensor x = numbers({2, 2, 6, 6}, 1.3).requires_grad_(true);
  expect_same(block.forward({{"image", x}}, {}).at("features"),
              at::tanh(plain_convolution(block, x, "", "", 1)),
              {x, value_of(block, "weight"), value_of(block, "bias")});
}

TEST(TransferResiduals, AreTheirFormulaWithBothDerivatives) {
  TransferResidual block({.channels = 3});
  fill(block);
  const at::Tensor x = numbers({2, 3, 5, 5}, 1.1).requires_grad_(true);
  const at::Tensor inner = plain_convolution(block, x, "first.", "first_norm.", 1).clamp_min(0.0);
  expect_same(block.forward({{"features", x}}, {}).at("features"),
              x + plain_convolution(block, inner, "second.", "second_norm.", 1),
              {x, value_of(block, "first.weight"), value_of(block, "second_norm.weight")});
}

TEST(FeatureLevels, PoolConvolveAndGoOn) {
  FeatureLevel block({.in = 2, .out = 3, .kernel = 5, .pools = true, .level = 1});
  fill(block);
  const at::Tensor x = numbers({2, 2, 8, 8}, 1.7).requires_grad_(true);
  const NamedTensors made = block.forward({{"features", x}}, {});
  const at::Tensor plain = at::conv2d(at::max_pool2d(x, {2, 2}), value_of(block, "weight"),
                                      value_of(block, "bias"), 1, 2)
                               .clamp_min(0.0);
  expect_same(made.at("level1"), plain, {x, value_of(block, "weight")});
  EXPECT_TRUE(at::equal(made.at("level1"), made.at("features")));
}

TEST(FeatureLevels, SeeTheShadesOfAColouredPicture) {
  FeatureLevel block({.in = 1, .out = 4, .kernel = 5});
  fill(block);
  const at::Tensor x = numbers({2, 3, 8, 8}, 1.7);
  const at::Tensor grey = x.mean({1}, true);
  EXPECT_TRUE(at::equal(block.forward({{"image", x}}, {}).at("level0"),
                        block.forward({{"image", grey}}, {}).at("level0")));
}

TEST(JohnsonNetworks, KeepTheSizeAndMakeTheirLevels) {
  for (const int resolution : family_named("johnson")->resolutions) {
    if (resolution > 64) {
      continue;  // the same blocks, but slow
    }
    for (const int channels : {1, 3}) {
      JobSpec job = JobSpec::of(*recipe_named("style-transfer"));
      job.model = {.family = family_named("johnson"),
                   .resolution = resolution,
                   .width = 4,
                   .blocks = 1,
                   .channels = channels};
      PerNetwork<Network> networks = build_networks(job);
      const PerNetwork<Architecture> architectures = job.architectures();
      for (const NetworkId id : networks.ids()) {
        networks[id].initialise(1);
        std::int64_t count = 0;
        for (const Network::NamedParameter& named : networks[id].parameters()) {
          count += named.parameter->tensor.numel();
        }
        EXPECT_EQ(count, num_parameters(architectures[id]));
      }
      const at::NoGradGuard no_grad;
      const at::Tensor images = numbers({2, channels, resolution, resolution}, 0.3).to(at::kFloat);
      const at::Tensor made = networks[job.id_of("generator")].forward({{"image", images}}, {});
      EXPECT_EQ(made.sizes(), images.sizes());
      EXPECT_LE(made.abs().max().item<double>(), 1.0);
      const std::vector<at::Tensor> levels =
          networks[job.id_of("features")].forward_levels({{"image", made}}, {});
      ASSERT_EQ(levels.size(), 2U);
      EXPECT_EQ(levels[0].sizes().vec(),
                (std::vector<std::int64_t>{2, 16, resolution, resolution}));
      EXPECT_EQ(levels[1].sizes().vec(),
                (std::vector<std::int64_t>{2, 32, resolution / 2, resolution / 2}));
    }
  }
}

}  // namespace
}  // namespace gangway::gan
