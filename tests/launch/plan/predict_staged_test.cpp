// SPDX-License-Identifier: MIT
#include "launch/plan/predict_staged.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/plan/plan_text.hpp"
#include "launch/plan/search.hpp"
#include "tests/launch/plan/sample_plan.hpp"

namespace gangway::launch {
namespace {

using ::testing::HasSubstr;

Prediction staged(int microbatches, const Cluster& cluster, const PlannedLayout& layout) {
  const auto planner = sample_planner(microbatches, cluster);
  return predict_staged(planner->input(), layout);
}

TEST(PredictStaged, NetworksApartTakeAsLongAsTheDearest) {
  // Of a micro-batch's 13 ms the discriminator has 9, and the generator's update hides under that.
  const Prediction two = staged(8, sample_cluster(1, 2),
                                {.workers = 2, .shape = LayoutShape::kApart, .groups = {1, 1}});
  EXPECT_GT(two.step_seconds, 8 * 0.009);
  EXPECT_LT(two.step_seconds, 8 * kMicrobatchSeconds);
  EXPECT_NEAR(two.parts.total(), two.step_seconds, 1e-9);
}

TEST(PredictStaged, StagesShareTheWorkWhereThereAreEnoughMicrobatches) {
  const Prediction two =
      staged(8, sample_cluster(1, 2), {.workers = 2, .shape = LayoutShape::kLoop, .stages = 2});
  EXPECT_GE(two.step_seconds, 8 * kMicrobatchSeconds / 2 * 0.95);
  EXPECT_LT(two.step_seconds, 8 * kMicrobatchSeconds / 2 * 1.4);
  const Prediction copies =
      staged(16, sample_cluster(2, 2), {.workers = 4, .shape = LayoutShape::kLoop, .stages = 2});
  EXPECT_NEAR(copies.step_seconds, two.step_seconds, 0.2 * two.step_seconds);
}

TEST(PredictStaged, EachHoldsItsPart) {
  const std::int64_t arena = kArenaElements * 4;
  const Prediction apart = staged(4, sample_cluster(2, 1),
                                  {.workers = 2, .shape = LayoutShape::kApart, .groups = {1, 1}});
  // Weights, a leaf and two moments of one network of the two.
  EXPECT_EQ(apart.memory.arenas_bytes, 4 * arena);
}

TEST(PredictStaged, NetworksApartSpareASlowLink) {
  Cluster cluster = sample_cluster(2, 1);
  cluster.between.bytes_per_second = kArenaElements * 4.0 / 0.5;
  const auto planner = sample_planner(8, cluster);
  const Search search = search_layouts(planner->input(), {.rows = 20, .shapes = Shapes::kAll});
  EXPECT_NE(search.ranking.front().layout.shape, LayoutShape::kWhole);
  const std::string text = plan_text(search, planner->input(), "j.yaml");
  EXPECT_THAT(text, HasSubstr("-n 2 layout.generator=[0] layout.discriminator=[1]"));
}

TEST(PredictStaged, AreOfferedOnlyWhereBlocksAndMicrobatchesAllowIt) {
  const auto planner = sample_planner(2, sample_cluster(1, 16));
  const std::vector<PlannedLayout> four = staged_layouts(planner->input(), 4);
  EXPECT_THAT(four, ::testing::SizeIs(3));  // apart 2 + 2; two rows of two, as loop and as V
  for (const PlannedLayout& layout : four) {
    EXPECT_LE(layout.stages, 2) << describe(layout);
    EXPECT_NE(layout.shape, LayoutShape::kTwoChunks);
  }
  EXPECT_TRUE(staged_layouts(planner->input(), 16).empty());
}

TEST(PredictStaged, ASearchOf4096DevicesComesToAnEnd) {
  const auto planner = sample_planner(4096, sample_cluster(512, 8));
  const auto begin = std::chrono::steady_clock::now();
  const Search search = search_layouts(planner->input(), {.rows = 10, .shapes = Shapes::kAll});
  RecordProperty(
      "seconds",
      std::to_string(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()));
  EXPECT_EQ(search.ranking.size(), 10U);
}

}  // namespace
}  // namespace gangway::launch
