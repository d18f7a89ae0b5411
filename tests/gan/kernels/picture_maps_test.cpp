// SPDX-License-Identifier: MIT
// Compares Gangway's convolutions with LibTorch's, by their errors against double precision.
#include "gan/kernels/picture_maps.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/kernels/convolution.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan::picture_maps_test {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

enum class MapDirection { kDown, kUp };

struct Case {
  MapDirection direction;
  std::int64_t examples;
  std::int64_t in;
  std::int64_t out;
  std::vector<std::int64_t> pixels;  // height, width
  KernelPlaces places = {};
};

struct Outcome {
  std::vector<at::Tensor> tensors;  // y, gradients of x, weight, bias; second derivatives
};

const std::vector<std::string> kNames{"y",       "of x",         "of weight",
                                      "of bias", "of both by x", "of both by weight"};

at::Tensor normal(std::int32_t draw, at::IntArrayRef shape, at::ScalarType type) {
  return keyed_normal({.seed = 7, .draw = draw}, shape, at::kCPU).to(type);
}

at::Tensor leaf(const at::Tensor& x, at::ScalarType type) {
  return x.detach().to(type).clone(at::MemoryFormat::Preserve).requires_grad_(true);
}

class PictureMaps : public ::testing::TestWithParam<Case> {
 protected:
  explicit PictureMaps(at::ScalarType type = at::kFloat) { begin(type); }
  void begin(at::ScalarType type) {
    const Case& with = GetParam();
    const bool is_up = with.direction == MapDirection::kUp;
    const std::int64_t kernel = with.places.kernel;
    x_ =
        normal(0, {with.examples, with.in, with.pixels[0], with.pixels[1]}, type).contiguous(kLast);
    weight_ =
        normal(1, {is_up ? with.in : with.out, is_up ? with.out : with.in, kernel, kernel}, type)
            .contiguous(kLast);
    bias_ = normal(2, {with.out}, type);
  }

  at::Tensor plain_map(const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias) const {
    const KernelPlaces& places = GetParam().places;
    return GetParam().direction == MapDirection::kUp
               ? at::conv_transpose2d(x, weight, bias, places.stride, places.padding)
               : at::conv2d(x, weight, bias, places.stride, places.padding);
  }

  static at::Tensor own_map(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    const KernelPlaces& places = GetParam().places;
    return convolved(x, weight, bias,
                     {.stride = {places.stride, places.stride},
                      .padding = {places.padding, places.padding},
                      .dilation = {1, 1},
                      .is_transposed = GetParam().direction == MapDirection::kUp,
                      .output_padding = {0, 0}});
  }

  template <typename Map>
  Outcome outcome(at::ScalarType type, const Map& map) const {
    const at::Tensor x = leaf(x_, type);
    const at::Tensor weight = leaf(weight_, type);
    const at::Tensor bias = leaf(bias_, type);
    const at::Tensor y = map(x, weight, bias);
    const at::Tensor gradient = normal(3, y.sizes(), x_.scalar_type()).to(type);
    const auto gradients = torch::autograd::grad({y}, {x, weight, bias}, {gradient}, true);
    const auto graph = torch::autograd::grad({y}, {x, weight}, {gradient}, true, true);
    const auto second =
        torch::autograd::grad({graph[0].pow(2).sum() + graph[1].pow(3).sum()}, {x, weight});
    return {{y, gradients[0], gradients[1], gradients[2], second[0], second[1]}};
  }

  void compare(at::ScalarType type) const {
    const auto plain = [this](const auto&... tensors) { return plain_map(tensors...); };
    const Outcome exact = outcome(at::kDouble, plain);
    const Outcome theirs = outcome(type, plain);
    const Outcome ours = outcome(type, own_map);
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const auto error = [&](const Outcome& of) {
        return (of.tensors[i].to(at::kDouble) - exact.tensors[i]).norm().item<double>() /
               exact.tensors[i].norm().item<double>();
      };
      EXPECT_EQ(ours.tensors[i].sizes(), exact.tensors[i].sizes()) << kNames[i];
      // The floor: LibTorch's order of sums may be more exact by chance.
      EXPECT_LE(error(ours), 2.0 * error(theirs) + 3e-7) << kNames[i];
    }
  }

  at::Tensor x_;
  at::Tensor weight_;
  at::Tensor bias_;
};

TEST_P(PictureMaps, AreAsNearToDoublePrecisionAsLibTorchs) { compare(at::kFloat); }

TEST_P(PictureMaps, AreAsNearToItInBf16) {
  begin(at::kBFloat16);
  compare(at::kBFloat16);
}

TEST_P(PictureMaps, ComputeNoWeightGradientThatNobodyWants) {
  const at::Tensor x = leaf(x_, at::kFloat);
  const at::Tensor weight = leaf(weight_, at::kFloat);
  const at::Tensor y = own_map(x, weight, {});
  torch::autograd::backward({y}, {at::ones_like(y)}, std::nullopt, false, {x});
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

constexpr auto kDown = MapDirection::kDown;
constexpr auto kUp = MapDirection::kUp;

INSTANTIATE_TEST_SUITE_P(
    Shapes, PictureMaps,
    ::testing::Values(Case{kDown, 3, 1, 16, {32, 32}},  // thin, as a first layer
                      Case{kDown, 2, 3, 17, {7, 9}},    // odd sides
                      Case{kDown, 2, 16, 17, {7, 8}},   // rows left over, no columns
                      Case{kDown, 4, 32, 48, {8, 8}},   // few places
                      Case{kDown, 2, 16, 16, {9, 7}, {3, 1, 1}},
                      Case{kDown, 2, 20, 18, {5, 5}, {3, 2, 0}},
                      Case{kUp, 3, 16, 1, {16, 16}},  // thin, as a last layer
                      Case{kUp, 2, 24, 3, {5, 7}}, Case{kUp, 4, 48, 32, {4, 4}},  // few places
                      Case{kUp, 2, 18, 20, {3, 2}, {3, 2, 0}},
                      Case{kDown, 2, 64, 128, {6, 8}},  // in tiles
                      Case{kUp, 2, 128, 64, {3, 4}}));

TEST(PicturePoints, BecomeWhatATransposedConvolutionMakesOfThem) {
  const at::Tensor x = normal(0, {5, 10, 1, 1}, at::kDouble);
  const at::Tensor bias = normal(2, {6}, at::kDouble);
  for (const auto format : {at::MemoryFormat::Contiguous, kLast}) {
    const at::Tensor weight = normal(1, {10, 6, 4, 4}, at::kDouble).contiguous(format);
    const at::Tensor y = map_points(x, weight, bias);
    EXPECT_TRUE(y.is_contiguous(format));
    EXPECT_TRUE(at::allclose(y, at::conv_transpose2d(x, weight, bias)));
  }
}

TEST(PictureMapsOf, ContiguousWeightsAreLibTorchsOwn) {
  const at::Tensor x = normal(0, {2, 1, 8, 8}, at::kFloat);  // of one channel: in both formats
  const at::Tensor weight = normal(1, {16, 1, 4, 4}, at::kFloat);
  const ConvolutionPlaces places{
      .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}, .output_padding = {0, 0}};
  const at::Tensor contiguous = convolved(x, weight, {}, places);
  EXPECT_TRUE(contiguous.is_contiguous());
  EXPECT_TRUE(contiguous.equal(at::conv2d(x, weight, {}, 2, 1)));
  const at::Tensor last =
      convolved(x, at::empty({16, 1, 4, 4}, weight.options(), kLast).copy_(weight), {}, places);
  EXPECT_TRUE(last.is_contiguous(kLast));
  EXPECT_TRUE(last.allclose(contiguous, 1e-5, 1e-5));
}

}  // namespace
}  // namespace gangway::gan::picture_maps_test
