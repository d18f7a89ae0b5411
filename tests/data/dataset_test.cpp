// SPDX-License-Identifier: MIT
#include "data/dataset.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/open_dataset.hpp"
#include "data/stacked_dataset.hpp"
#include "data/toy.hpp"
#include "job/data_source.hpp"
#include "job/families/families.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/named_rows.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;

ModelSpec points_model() {
  ModelSpec model;
  model.family = family_named("mlp");
  return model;
}

TEST(ToyMixture, RingHas8CentresOnACircle) {
  const ToyMixture ring = toy_mixture("ring8").value();
  ASSERT_EQ(ring.centres.size(), 8U);
  for (const auto& centre : ring.centres) {
    EXPECT_NEAR(std::hypot(centre[0], centre[1]), 2 / 1.414, 1e-6);
  }
  EXPECT_NEAR(ring.sigma, 0.02 / 1.414, 1e-8);
}

TEST(ToyMixture, GridHas25CentresOnALattice) {
  const ToyMixture grid = toy_mixture("grid25").value();
  ASSERT_EQ(grid.centres.size(), 25U);
  EXPECT_NEAR(grid.centres[0][0], -4 / 2.828, 1e-6);
  EXPECT_NEAR(grid.centres[24][1], 4 / 2.828, 1e-6);
  EXPECT_FALSE(toy_mixture("spiral").has_value());
}

TEST(ToyDataset, PointsLieAroundTheirCentres) {
  for (const std::string name : {"ring8", "grid25"}) {
    const auto dataset = open_dataset({.source = "toy:" + name}, points_model(), 3);
    const ToyMixture mixture = toy_mixture(name).value();
    std::vector<int> seen(mixture.centres.size(), 0);
    double square = 0;
    constexpr int kPoints = 5000;
    for (int i = 0; i < kPoints; ++i) {
      std::array<float, 2> point{};
      const auto mode = static_cast<std::size_t>(dataset->read(i, point));
      ++seen[mode];
      square += std::pow(point[0] - mixture.centres[mode][0], 2) +
                std::pow(point[1] - mixture.centres[mode][1], 2);
    }
    EXPECT_NEAR(std::sqrt(square / (2 * kPoints)) / mixture.sigma, 1.0, 0.03) << name;
    for (const int count : seen) {
      EXPECT_NEAR(count, kPoints / static_cast<double>(seen.size()), 80) << name;
    }
  }
}

TEST(ToyDataset, PointsDependOnSeedAndIndexOnly) {
  const auto first = open_dataset({.source = "toy:ring8"}, points_model(), 3);
  const auto same = open_dataset({.source = "toy:ring8"}, points_model(), 3);
  const auto other = open_dataset({.source = "toy:ring8"}, points_model(), 4);
  std::array<float, 2> a{};
  std::array<float, 2> b{};
  std::array<float, 2> c{};
  (void)first->read(9, a);
  (void)same->read(9, b);
  (void)other->read(9, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(first->fingerprint(), same->fingerprint());
  EXPECT_NE(first->fingerprint(), other->fingerprint());
}

TEST(OpenDataset, NamesTheSourcesThatExist) {
  for (const std::string source : {"mnist", "toy:spiral", ""}) {
    expect_config_error([&] { (void)open_dataset({.source = source}, ModelSpec{}, 0); },
                        {"data.source: '" + source + "' is unknown", "fashion-mnist"});
  }
}

TEST(OpenDataset, RefusesPointsForImagesAndImagesForPoints) {
  expect_config_error([] { (void)open_dataset({.source = "toy:ring8"}, ModelSpec{}, 0); },
                      {"toy:ring8", "use family mlp"});
  expect_config_error([] { (void)open_dataset({.source = "fashion-mnist"}, points_model(), 0); },
                      {"fashion-mnist", "toy:ring8"});
}

TEST(OpenDataset, RefusesMoreLabelsThanTheModelKnows) {
  ModelSpec model = points_model();
  model.classes = 5;
  expect_config_error([&] { (void)open_dataset({.source = "toy:ring8"}, model, 0); },
                      {"8 classes", "model.classes is 5", "set it to 8"});
}

TEST(OpenDataset, ReadsFashionMnist) {
  const auto dataset = open_dataset({.source = "fashion-mnist"}, ModelSpec{}, 0);
  EXPECT_EQ(dataset->size(), 60000);
  EXPECT_EQ(dataset->num_classes(), 10);
  std::vector<float> image(dataset->shape().elements());
  EXPECT_EQ(dataset->read(0, image), 9);  // an ankle boot
  EXPECT_EQ(image.size(), 32U * 32U);
}

TEST(OpenDataset, KeepsTheFirstExamplesWhereTheyAreLimited) {
  const auto all = open_dataset({.source = "fashion-mnist"}, ModelSpec{}, 0);
  const auto some = open_dataset({.source = "fashion-mnist", .limit = 3}, ModelSpec{}, 0);
  const auto more = open_dataset({.source = "fashion-mnist", .limit = 4}, ModelSpec{}, 0);
  EXPECT_EQ(some->size(), 3);
  EXPECT_EQ(some->num_classes(), 10);
  EXPECT_EQ(some->shape().elements(), all->shape().elements());
  std::vector<float> image(all->shape().elements());
  std::vector<float> same(all->shape().elements());
  for (std::int64_t i = 0; i < some->size(); ++i) {
    EXPECT_EQ(some->read(i, same), all->read(i, image));
    EXPECT_EQ(same, image);
  }
  EXPECT_EQ(some->fingerprint().size(), 32U);
  EXPECT_NE(some->fingerprint(), all->fingerprint());
  EXPECT_NE(some->fingerprint(), more->fingerprint());
}

TEST(OpenDataset, LimitsPointsToo) {
  EXPECT_EQ(open_dataset({.source = "toy:ring8", .limit = 8}, points_model(), 3)->size(), 8);
}

TEST(OpenDataset, RefusesALimitBeyondTheSource) {
  expect_config_error(
      [] { (void)open_dataset({.source = "fashion-mnist", .limit = 60001}, ModelSpec{}, 0); },
      {"data.limit", "60001", "fashion-mnist", "use 60000 at most"});
  EXPECT_EQ(open_dataset({.source = "fashion-mnist", .limit = 60000}, ModelSpec{}, 0)->size(),
            60000);
}

/// Ten images of one pixel: image i has class i and shade i.
class TenShades : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 10; }
  [[nodiscard]] ExampleShape shape() const override { return {}; }
  [[nodiscard]] int num_classes() const override { return 10; }
  int read(std::int64_t index, std::span<float> out) const override {
    out[0] = static_cast<float>(index);
    return static_cast<int>(index);
  }
  [[nodiscard]] std::string fingerprint() const override { return "ten"; }
};

TEST(StackedDataset, ShowsThreeImagesWhoseClassesTheLabelTells) {
  const StackedDataset stacked(std::make_unique<TenShades>());
  EXPECT_EQ(stacked.num_classes(), 1000);
  EXPECT_EQ(stacked.shape().channels, 3);
  std::vector<int> seen(1000);
  constexpr int kPictures = 20'000;
  for (int i = 0; i < kPictures; ++i) {
    std::array<float, 3> picture{};
    const int label = stacked.read(i, picture);
    EXPECT_EQ(label, static_cast<int>(100 * picture[0] + 10 * picture[1] + picture[2]));
    ++seen.at(static_cast<std::size_t>(label));
  }
  for (const int count : seen) {  // 20 are expected
    EXPECT_GT(count, 2);
    EXPECT_LT(count, 50);
  }
}

TEST(StackedDataset, OfClothesIsTheSameForEverySeed) {
  ModelSpec model;
  model.channels = 3;
  const DataSpec spec{.source = std::string(kStackedSource)};
  const auto first = open_dataset(spec, model, 1);
  const auto second = open_dataset(spec, model, 2);
  ASSERT_EQ(first->shape().elements(), std::size_t{3} * 32 * 32);
  std::vector<float> a(first->shape().elements());
  std::vector<float> b(a.size());
  EXPECT_EQ(first->read(77, a), second->read(77, b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(first->fingerprint(), second->fingerprint());
  EXPECT_EQ(first->size(), 128'000);
  model.channels = 1;
  expect_config_error([&] { (void)open_dataset(spec, model, 1); },
                      {"has 3 channels, but model.channels is 1", "set it to 3"});
}

}  // namespace
}  // namespace gangway::data
