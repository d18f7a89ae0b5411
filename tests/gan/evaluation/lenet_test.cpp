// SPDX-License-Identifier: MIT
#include "gan/evaluation/lenet.hpp"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "data/dataset.hpp"
#include "gan/evaluation/fd_lenet.hpp"
#include "gan/evaluation/frechet.hpp"
#include "gan/evaluation/train_features.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

using Shape = std::vector<std::int64_t>;

/// Ten kinds of pictures with a bright row at different heights, and noise keyed by the index.
class RowsOfLight final : public data::Dataset {
 public:
  explicit RowsOfLight(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::int64_t size() const override { return 400; }
  [[nodiscard]] data::ExampleShape shape() const override {
    return {.channels = 1, .height = 28, .width = 28};
  }
  [[nodiscard]] int num_classes() const override { return 10; }
  int read(std::int64_t index, std::span<float> out) const override {
    const KeyedRandom random({.seed = seed_, .step = index});
    const int label = static_cast<int>(random.below(0, 10));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_bright = static_cast<int>(i / 28) == 4 + 2 * label;
      out[i] = (is_bright ? 0.5F : -0.9F) + 0.2F * random.uniform(4 + i);
    }
    return label;
  }
  [[nodiscard]] std::string fingerprint() const override { return std::string(32, '0'); }

 private:
  std::uint64_t seed_;
};

TEST(LeNet, HasTheDocumentedShapesAndSize) {
  LeNet lenet;
  std::int64_t count = 0;
  for (const Network::NamedParameter& named : lenet.parameters()) {
    count += named.parameter->tensor.numel();
  }
  EXPECT_EQ(count, 215'370);
  const at::NoGradGuard no_grad;
  const at::Tensor features = lenet.features(at::zeros({3, 1, 28, 28}));
  EXPECT_EQ(features.sizes().vec(), (Shape{3, LeNet::kFeatures}));
  EXPECT_EQ(lenet.logits(features).sizes().vec(), (Shape{3, LeNet::kClasses}));
}

TEST(LenetInput, UndoesThePaddingOfTheDataSet) {
  const at::Tensor picture = keyed_uniform({.seed = 1}, {2, 1, 28, 28}, at::kCPU);
  const at::Tensor padded = at::constant_pad_nd(picture, {2, 2, 2, 2}, -1.0);
  EXPECT_TRUE(lenet_input(picture).equal(picture));
  EXPECT_TRUE(lenet_input(padded).equal(picture));
}

TEST(LenetInput, AveragesColoursAndShrinksMultiplesOf32Pixels) {
  const at::Tensor picture = keyed_uniform({.seed = 1}, {2, 1, 28, 28}, at::kCPU);
  const at::Tensor padded = at::constant_pad_nd(picture, {2, 2, 2, 2}, -1.0);
  const at::Tensor doubled = padded.repeat_interleave(2, 2).repeat_interleave(2, 3);
  EXPECT_TRUE(at::allclose(lenet_input(doubled), picture));
  const at::Tensor large = padded.repeat_interleave(8, 2).repeat_interleave(8, 3);
  EXPECT_TRUE(at::allclose(lenet_input(large), picture, 1e-5, 1e-6)) << "256 pixels";
  const at::Tensor coloured = at::cat({picture - 0.25, picture, picture + 0.25}, 1);
  EXPECT_TRUE(at::allclose(lenet_input(coloured), picture, 1e-5, 1e-6));
}

TEST(LenetInput, RefusesOtherSizes) {
  EXPECT_THROW(static_cast<void>(lenet_input(at::zeros({1, 1, 48, 48}))), ConfigError);
}

TEST(TrainFeatures, LearnsAndRepeatsItselfBitForBit) {
  const RowsOfLight train(1);
  const FeatureRecipe recipe{.seed = 2, .epochs = 4, .batch = 20};
  LeNet first;
  LeNet second;
  double last_loss = 0.0;
  train_features(first, train, recipe, [&](std::int64_t, double loss) { last_loss = loss; });
  train_features(second, train, recipe, [](std::int64_t, double) {});
  EXPECT_LT(last_loss, 0.2);
  EXPECT_GT(accuracy(first, RowsOfLight(3)), 0.95);
  const auto a = first.parameters();
  const auto b = second.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i].parameter->tensor.equal(b[i].parameter->tensor)) << a[i].name;
  }
}

FeatureStatistics lenet_statistics(LeNet& lenet, const ImageSource& images, std::int64_t count) {
  return feature_statistics(lenet_features(lenet, images, count));
}

TEST(LenetStatistics, DoNotDependOnTheOrderOfTheImages) {
  const RowsOfLight images(1);
  LeNet lenet;
  lenet.initialise(1);
  const FeatureStatistics in_order = lenet_statistics(lenet, images_of(images), images.size());
  const FeatureStatistics shuffled =
      lenet_statistics(lenet, shuffled_images_of(images, 5), images.size());
  EXPECT_LT(std::abs(frechet_distance(in_order, shuffled)), 1e-6);
}

TEST(LenetStatistics, TellOneSetOfImagesFromAnother) {
  const RowsOfLight images(1);
  const RowsOfLight others(2);
  LeNet lenet;
  lenet.initialise(1);
  const ImageSource dark = [](std::int64_t, std::int64_t count) {
    return at::full({count, 1, 28, 28}, -1.0, at::kFloat);
  };
  const FeatureStatistics reference = lenet_statistics(lenet, images_of(images), images.size());
  const double floor =
      frechet_distance(lenet_statistics(lenet, images_of(others), others.size()), reference);
  EXPECT_GT(frechet_distance(lenet_statistics(lenet, dark, 400), reference), 10.0 * floor);
}

}  // namespace
}  // namespace gangway::gan
