// SPDX-License-Identifier: MIT
#include "job/models/narrowing.hpp"

#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

/// Returns all tensors of `network` with numbers that differ.
NetworkValues numbered(const Architecture& network) {
  NetworkValues all;
  float next = 1.0F;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto elements = static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
    ChannelTensor& tensor = all[name];
    tensor = {.shape = shape, .values = std::vector<float>(elements)};
    std::iota(tensor.values.begin(), tensor.values.end(), next);
    next += static_cast<float>(elements);
  };
  for (std::size_t block = 0; block < network.blocks.size(); ++block) {
    const std::string prefix = std::to_string(block) + "/";
    std::visit(
        [&](const auto& spec) {
          for (const ParameterSpec& parameter : parameters_of(spec)) {
            add(prefix + parameter.name, parameter.shape);
          }
          for (const StatisticSpec& statistic : statistics_of(spec)) {
            add(prefix + statistic.name, {statistic.features});
          }
        },
        network.blocks[block]);
  }
  return all;
}

Architecture layers(std::int64_t first, std::int64_t second) {
  return {"generator",
          {LayerSpec{.in = 2, .out = first, .bias = true, .batch_norm = true},
           LayerSpec{
               .kind = LayerKind::kTransposedConvolution, .in = first, .out = second, .kernel = 1},
           LayerSpec{.kind = LayerKind::kConvolution, .in = second, .out = 1, .kernel = 1}}};
}

TEST(Narrowing, KeepsTheFiltersWithTheLargestSumsAndWhatReadsThem) {
  NetworkValues wide = numbered(layers(3, 2));
  wide.at("0/weight").values = {1, -2, 0.5, 0.5, -4, 0};  // filters of size 3, 1 and 4
  wide.at("0/bias").values = {10, 20, 30};
  wide.at("0/norm.weight").values = {11, 21, 31};
  wide.at("0/norm.running_var").values = {12, 22, 32};
  wide.at("1/weight").values = {1, 2, 3, -9, 5, 1};  // [in, out]: filters of size 9 and 12
  wide.at("2/weight").values = {7, 8};
  const NetworkValues narrow = narrowed(layers(3, 2), layers(2, 1), wide);
  EXPECT_EQ(narrow.at("0/weight"), (ChannelTensor{{2, 2}, {1, -2, -4, 0}}));
  EXPECT_EQ(narrow.at("0/bias"), (ChannelTensor{{2}, {10, 30}}));
  EXPECT_EQ(narrow.at("0/norm.weight"), (ChannelTensor{{2}, {11, 31}}));
  EXPECT_EQ(narrow.at("0/norm.running_var"), (ChannelTensor{{2}, {12, 32}}));
  EXPECT_EQ(narrow.at("1/weight"), (ChannelTensor{{2, 1, 1, 1}, {2, 1}}));
  EXPECT_EQ(narrow.at("2/weight"), (ChannelTensor{{1, 1, 1, 1}, {8}}));
}

TEST(Narrowing, KeepsTheFirstOfEqualFilters) {
  NetworkValues wide = numbered(layers(3, 2));
  wide.at("0/weight").values = {1, 1, 2, 0, 0, -2};
  wide.at("1/weight").values = {1, 1, 1, 1, 1, 1};
  wide.at("2/weight").values = {7, 8};
  const NetworkValues narrow = narrowed(layers(3, 2), layers(2, 1), wide);
  EXPECT_EQ(narrow.at("0/weight").values, (std::vector<float>{1, 1, 2, 0}));
  EXPECT_EQ(narrow.at("2/weight").values, std::vector<float>{7});
}

/// Returns a residual block between a basis and a picture.
Architecture residual(std::int64_t channels, std::int64_t expanded, std::int64_t groups) {
  return {"generator",
          {GenerativeBasisSpec{.in = 1, .channels = channels},
           ResidualSpec{.channels = channels, .expanded = expanded, .groups = groups},
           LayerSpec{.kind = LayerKind::kConvolution, .in = channels, .out = 1, .kernel = 1}}};
}

/// Returns three channels of sizes 116, 32 and 48; the residual block adds 100 to the first. Within
/// the block the second pair of channels is the larger.
NetworkValues values_of_residual() {
  NetworkValues wide = numbered(residual(3, 4, 2));
  for (std::size_t i = 0; i < 48; ++i) {
    wide.at("0/basis").values[i] = static_cast<float>(1 + i / 16);
  }
  wide.at("0/weight").values = {0, 0, 0};
  wide.at("1/expand.weight").values = {1, 2, 3, 400, 500, 600, 7, 8, 9, 1000, 1100, 1200};
  wide.at("1/expand.bias").values = {1, 2, 3, 4};
  for (std::size_t i = 0; i < 72; ++i) {
    wide.at("1/grouped.weight").values[i] = static_cast<float>(i / 9);  // [4, 2, 9]
  }
  wide.at("1/contract.weight").values = {10, 20, 30, -40, 0, 0, 0, 0, 0, 0, 0, 0};
  wide.at("2/weight").values = {7, 8, 9};
  return wide;
}

TEST(Narrowing, CountsAllTermsOfAResidualSumAndKeepsTheSameChannelsOfEach) {
  const NetworkValues narrow = narrowed(residual(3, 4, 2), residual(2, 4, 2), values_of_residual());
  EXPECT_EQ(narrow.at("0/basis").values[0], 1.0F);
  EXPECT_EQ(narrow.at("0/basis").values[16], 3.0F);
  EXPECT_EQ(narrow.at("1/expand.weight"),
            (ChannelTensor{{4, 2, 1, 1}, {1, 3, 400, 600, 7, 9, 1000, 1200}}));
  EXPECT_EQ(narrow.at("1/contract.weight"),
            (ChannelTensor{{2, 4, 1, 1}, {10, 20, 30, -40, 0, 0, 0, 0}}));
  EXPECT_EQ(narrow.at("2/weight"), (ChannelTensor{{1, 2, 1, 1}, {7, 9}}));
}

TEST(Narrowing, KeepsWholeGroupsOfConvolutions) {
  const NetworkValues narrow = narrowed(residual(3, 4, 2), residual(3, 2, 1), values_of_residual());
  EXPECT_EQ(narrow.at("1/expand.bias").values, (std::vector<float>{3, 4}));
  ASSERT_EQ(narrow.at("1/grouped.weight").shape, (std::vector<std::int64_t>{2, 2, 3, 3}));
  EXPECT_EQ(narrow.at("1/grouped.weight").values[0], 4.0F);
  EXPECT_EQ(narrow.at("1/grouped.weight").values[35], 7.0F);
  EXPECT_EQ(narrow.at("1/contract.weight").values, (std::vector<float>{30, -40, 0, 0, 0, 0}));
}

Architecture generator_of(ModelSpec model, int width) {
  model.width = width;
  return architecture_of(model, "generator");
}

TEST(Narrowing, MakesAllTensorsOfTheNarrowNetwork) {
  std::string able;
  for (const ModelFamily& family : families()) {
    if (!has_role(family, "generator")) {
      continue;
    }
    ModelSpec model{.family = &family};
    model.resolution = family.resolutions.empty() ? 32 : family.resolutions.back();
    model.classes = family.takes_labels ? 10 : 0;
    const Architecture wide = generator_of(model, 32);
    const Architecture narrow = generator_of(model, 8);
    if (!narrowing_complaint(wide, narrow).empty()) {
      continue;
    }
    able += std::string(family.name) + " ";
    const NetworkValues values = narrowed(wide, narrow, numbered(wide));
    const NetworkValues expected = numbered(narrow);
    EXPECT_EQ(values.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      EXPECT_EQ(values.at(name).shape, tensor.shape) << family.name << " " << name;
      EXPECT_EQ(values.at(name).values.size(), tensor.values.size()) << family.name << " " << name;
    }
    EXPECT_EQ(narrowed(wide, wide, numbered(wide)), numbered(wide)) << family.name;
  }
  EXPECT_EQ(able, "dcgan dense mlp r3gan ");
}

TEST(Narrowing, IsRefusedWhereItCannotBe) {
  EXPECT_EQ(narrowing_complaint(layers(3, 2), layers(2, 1)), "");
  EXPECT_EQ(narrowing_complaint(layers(2, 2), layers(3, 1)), "the teacher has fewer channels");
  EXPECT_EQ(narrowing_complaint(residual(3, 4, 1), residual(3, 4, 2)),
            "the teacher's grouped convolutions have groups of another size");
  ModelSpec model{.family = family_named("infogan"), .resolution = 28};
  EXPECT_EQ(narrowing_complaint(generator_of(model, 16), generator_of(model, 8)),
            "the channels of its blocks are not known")
      << "a layer's features become maps";
}

}  // namespace
}  // namespace gangway
