// SPDX-License-Identifier: MIT
#include "pipeline/layout/layout.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/layout/placements.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string complaint(const Layout& layout) {
  try {
    check(layout, kNetworkNames);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Layout, KnowsWhoDoesWhat) {
  const Layout layout = replicated(placed(Placement::kV, 2, 1, {2, 4}), 3, 8);
  EXPECT_EQ(complaint(layout), "");
  EXPECT_EQ(layout.num_workers, 6);
  EXPECT_THAT(layout.networks[kDiscriminator].chunks, ElementsAre(Chunk{0, 2}, Chunk{2, 4}));
  // Replicas have micro-batches [0, 2), [2, 5), [5, 8).
  EXPECT_EQ(layout.worker_of(kGenerator, 0, 1), 0);
  EXPECT_EQ(layout.worker_of(kGenerator, 1, 1), 1);
  EXPECT_EQ(layout.worker_of(kDiscriminator, 0, 2), 3);
  EXPECT_EQ(layout.worker_of(kDiscriminator, 1, 7), 4);
}

TEST(Layout, PlacesTwoChunksDownTheRowAndBackUp) {
  const Layout layout = placed(Placement::kTwoChunks, 3, 4, {6, 7});
  EXPECT_THAT(layout.networks[kGenerator].replicas.front().workers, ElementsAre(0, 1, 2, 2, 1, 0));
  EXPECT_EQ(complaint(layout), "");
}

TEST(Layout, RoutesMicrobatchesBetweenUnequalGroups) {
  const Layout layout = groups_apart({2, 3}, 6, {1, 1});
  EXPECT_EQ(complaint(layout), "");
  EXPECT_THAT(routes(layout.networks[kGenerator], layout.networks[kDiscriminator]),
              ElementsAre(Route{0, 2, {0, 2}}, Route{0, 3, {2, 3}}, Route{1, 3, {3, 4}},
                          Route{1, 4, {4, 6}}));
}

TEST(Layout, RoutesNothingWithinAWorker) {
  const Layout layout = placed(Placement::kLoop, 1, 4, {1, 1});
  EXPECT_TRUE(routes(layout.networks[kGenerator], layout.networks[kDiscriminator]).empty());
}

TEST(Layout, RefusesWhatLeavesAGap) {
  const Layout good = groups_apart({1, 2}, 4, {2, 2});
  Layout bad = good;
  bad.networks[kDiscriminator].replicas[1].microbatches = {3, 4};
  EXPECT_THAT(complaint(bad), HasSubstr("layout of the discriminator: micro-batches [3, 4) cannot "
                                        "follow number 1"));
  bad = good;
  bad.networks[kDiscriminator].replicas.pop_back();
  EXPECT_THAT(complaint(bad), HasSubstr("its replicas have 2 of 4 micro-batches"));
  bad = good;
  bad.networks[kGenerator].chunks = {{0, 1}, {2, 3}};
  EXPECT_THAT(complaint(bad), HasSubstr("a chunk of blocks [2, 3) cannot follow block 1"));
  bad.networks[kGenerator].chunks.clear();
  EXPECT_THAT(complaint(bad), HasSubstr("it has no chunks"));
}

TEST(Layout, RefusesWorkersThatDoNotExistOrHaveAChunkTwice) {
  const Layout good = groups_apart({1, 2}, 4, {2, 2});
  Layout bad = good;
  bad.networks[kGenerator].replicas[0].workers = {3};
  EXPECT_THAT(complaint(bad), HasSubstr("there is no worker 3 among 3"));
  bad.networks[kGenerator].replicas[0].workers = {0, 1};
  EXPECT_THAT(complaint(bad), HasSubstr("names 2 workers for 1 chunks"));
  bad = good;
  bad.networks[kDiscriminator].replicas[1].workers = {1};
  EXPECT_THAT(complaint(bad), HasSubstr("worker 1 has chunk 0 in two replicas"));
  bad.networks = {good.networks[kGenerator]};
  EXPECT_THAT(complaint(bad), HasSubstr("the layout is of 1 networks, the job has 2"));
}

TEST(Chunks, AreCutWhereTheDearestCostsLeast) {
  EXPECT_THAT(balanced_chunks({1, 1, 1, 5}, 2), ElementsAre(Chunk{0, 3}, Chunk{3, 4}));
  EXPECT_THAT(balanced_chunks({4, 1, 1, 1, 1}, 2), ElementsAre(Chunk{0, 1}, Chunk{1, 5}));
  EXPECT_THAT(balanced_chunks({2, 1, 3, 1, 2}, 3),
              ElementsAre(Chunk{0, 2}, Chunk{2, 3}, Chunk{3, 5}));
  EXPECT_THROW((void)balanced_chunks({1, 1}, 3), ConfigError);
}

TEST(Chunks, CostWhatTheirBlocksCost) {
  const WorkCosts one{
      .forward_seconds = 1.0, .sweep_seconds = {1, 2, 3, 4}, .output_bytes = 10, .stored_bytes = 5};
  WorkCosts other = one;
  other.output_bytes = 7;
  const std::vector<WorkCosts> blocks{one, other};
  const WorkCosts both = joined(blocks);
  EXPECT_EQ(both.forward_seconds, 2.0);
  EXPECT_EQ(both.sweep_seconds[3], 8.0);
  EXPECT_EQ(both.output_bytes, 7);
  EXPECT_EQ(both.stored_bytes, 10);
}

}  // namespace
}  // namespace gangway::pipeline
