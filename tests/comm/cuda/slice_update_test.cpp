// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/optimizer_rules.hpp"
#include "comm/cuda/slice_element.hpp"
#include "tests/comm/cuda/host_references.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kElements = 512;
constexpr std::size_t kParameters = 320;
constexpr UpdatePlan kPlan{.settings = {.lr = 2e-4, .betas = {0.5, 0.999}},
                           .counts = {.updates = 2},
                           .harvests = 2,
                           .average_decay = 0.99};

std::vector<float> scattered_values(std::uint64_t key) {
  std::vector<float> values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scattered(key * 100'003U + i);
  }
  return values;
}

/// Three partials of six micro-batches, and a network's state for one slice.
struct Slice {
  std::vector<MicrobatchRange> subtrees{{0, 3}, {3, 4}, {4, 6}};
  std::vector<std::vector<float>> partials{scattered_values(1), scattered_values(2),
                                           scattered_values(3)};
  std::vector<float> weights = scattered_values(4);
  std::vector<float> first = scattered_values(5);
  std::vector<float> second = std::vector<float>(kElements, 0.25F);
  std::vector<float> average = scattered_values(6);
  UpdateConstants constants = update_constants(kPlan, 0.1);

  [[nodiscard]] SliceUpdate update() {
    SliceUpdate described{.program = tree_sum_program(subtrees, {0, 6}),
                          .elements = kElements,
                          .parameter_elements = kParameters,
                          .scale = 1.0F / 6.0F,
                          .constants = &constants,
                          .weights = weights.data(),
                          .moments = {first.data(), second.data()},
                          .average = average.data()};
    for (std::size_t i = 0; i < partials.size(); ++i) {
      described.summands.values[i] = partials[i].data();
    }
    return described;
  }
  [[nodiscard]] std::vector<float> mean() const {
    std::vector<float> values(kElements);
    std::vector<TreeSummand> summands;
    for (std::size_t i = 0; i < partials.size(); ++i) {
      summands.push_back({subtrees[i], partials[i].data()});
    }
    tree_sum(summands, {0, 6}, 1.0F / 6.0F, values);
    return values;
  }
};

TEST(SliceUpdate, SumsAsTheReductionOnHostsDoes) {
  Slice slice;
  std::vector<float> out(kElements);
  const SliceUpdate update = slice.update();
  sum_slice_on_host({.program = update.program,
                     .summands = update.summands,
                     .elements = kElements,
                     .scale = update.scale,
                     .out = out.data()});
  EXPECT_TRUE(same_bits(out, slice.mean()));
}

TEST(SliceUpdate, UpdatesParametersFromTheClippedMean) {
  Slice slice;
  Slice expected;
  const float clip = 0.37F;
  SliceUpdate update = slice.update();
  update.clip_scale = &clip;
  update_slice_on_host(update);
  const std::vector<float> mean = expected.mean();
  const AdamRule rule = AdamRule::of(kPlan.settings, kPlan.number());
  for (std::size_t i = 0; i < kParameters; ++i) {
    float moments[] = {expected.first[i], expected.second[i]};
    rule.update(mean[i] * clip, expected.weights[i], moments);
    ASSERT_EQ(slice.weights[i], expected.weights[i]) << i;
    ASSERT_EQ(slice.first[i], moments[0]) << i;
    ASSERT_EQ(slice.second[i], moments[1]) << i;
  }
}

TEST(SliceUpdate, MovesStatisticsTowardsTheirMeanAndLeavesTheirMoments) {
  Slice slice;
  const Slice before;
  update_slice_on_host(slice.update());
  const std::vector<float> mean = before.mean();
  for (std::size_t i = kParameters; i < kElements; ++i) {
    const float running = before.weights[i] + 0.1F * (mean[i] * 0.5F - before.weights[i]);
    ASSERT_EQ(slice.weights[i], running) << i;
    ASSERT_EQ(slice.first[i], before.first[i]) << i;
    ASSERT_EQ(slice.second[i], before.second[i]) << i;
  }
}

TEST(SliceUpdate, LeavesStatisticsAloneInAPhaseThatHarvestsNone) {
  Slice slice;
  const Slice before;
  slice.constants.statistics_share = 0.0F;
  update_slice_on_host(slice.update());
  for (std::size_t i = kParameters; i < kElements; ++i) {
    ASSERT_EQ(slice.weights[i], before.weights[i]) << i;
  }
}

TEST(SliceUpdate, AveragesTheNewWeights) {
  Slice slice;
  const Slice before;
  update_slice_on_host(slice.update());
  for (std::size_t i = 0; i < kElements; ++i) {
    const float gain = static_cast<float>(1.0 - 0.99);
    ASSERT_EQ(slice.average[i], before.average[i] + gain * (slice.weights[i] - before.average[i]))
        << i;
  }
}

TEST(SliceUpdate, ScalesDownToTheNormAndNeverUp) {
  const std::vector<double> squares{4.0, 1.0, 3.0, 1.0};
  double squared_norm = 0.0;
  float scale = 0.0F;
  ClipDecision decision{.squares = squares.data(),
                        .num_blocks = 4,
                        .clip_norm = 1.5,
                        .squared_norm = &squared_norm,
                        .clip_scale = &scale};
  decide_clip_on_host(decision);
  EXPECT_EQ(squared_norm, 9.0);
  EXPECT_EQ(scale, static_cast<float>(1.5 / (3.0 + 1e-6)));
  decision.clip_norm = 10.0;
  decide_clip_on_host(decision);
  EXPECT_EQ(scale, 1.0F);
}

TEST(SliceUpdate, DividesByTheLossScaleBeforeItClips) {
  const std::vector<double> squares{std::ldexp(9.0, 32)};
  double squared_norm = 0.0;
  float scale = 0.0F;
  int is_skipped = 7;
  const UpdateConstants constants{.unscale = std::ldexp(1.0F, -16)};
  ClipDecision decision{.squares = squares.data(),
                        .num_blocks = 1,
                        .constants = &constants,
                        .squared_norm = &squared_norm,
                        .clip_scale = &scale,
                        .is_skipped = &is_skipped};
  decide_clip_on_host(decision);
  EXPECT_EQ(scale, constants.unscale);
  EXPECT_EQ(is_skipped, 0);
  decision.clip_norm = 1.5;
  decide_clip_on_host(decision);
  EXPECT_EQ(scale, static_cast<float>(std::ldexp(1.0, -16) * (1.5 / (3.0 + 1e-6))));
}

TEST(SliceUpdate, LeavesAllAsItIsWhereTheNormIsNoNumber) {
  Slice slice;
  const Slice before;
  const double square = std::numeric_limits<double>::infinity();
  double squared_norm = 0.0;
  float scale = 0.0F;
  int is_skipped = 0;
  decide_clip_on_host({.squares = &square,
                       .num_blocks = 1,
                       .squared_norm = &squared_norm,
                       .clip_scale = &scale,
                       .is_skipped = &is_skipped});
  EXPECT_EQ(is_skipped, 1);
  SliceUpdate update = slice.update();
  update.clip_scale = &scale;
  update.is_skipped = &is_skipped;
  update_slice_on_host(update);
  EXPECT_TRUE(same_bits(slice.weights, before.weights));
  EXPECT_TRUE(same_bits(slice.first, before.first));
  EXPECT_TRUE(same_bits(slice.average, before.average));
}

TEST(SliceUpdate, TakesSummandsInTheWiresType) {
  Slice slice;
  Slice rounded;
  std::vector<std::uint16_t> wire(kElements);
  encode_on_host({.values = slice.partials[1].data(),
                  .out = wire.data(),
                  .type = WireType::kBfloat16,
                  .elements = kElements});
  for (std::size_t i = 0; i < kElements; ++i) {
    rounded.partials[1][i] = from_bfloat16(wire[i]);
  }
  SliceUpdate update = slice.update();
  update.summands.values[1] = wire.data();
  update.summands.types[1] = WireType::kBfloat16;
  update_slice_on_host(update);
  update_slice_on_host(rounded.update());
  EXPECT_TRUE(same_bits(slice.weights, rounded.weights));
}

}  // namespace
}  // namespace gangway::comm
