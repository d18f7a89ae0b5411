// SPDX-License-Identifier: MIT
#include "pipeline/pass_share.hpp"

#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr NetworkId kMaker{0};
constexpr NetworkId kJudge{1};

NetworkGroup on(std::vector<int> workers, int microbatches) {
  const int size = static_cast<int>(workers.size());
  return {.workers = std::move(workers), .ranges = microbatch_ranges(microbatches, size)};
}

/// The judge sees generated and real images together; the maker compares both.
Pass mixed_pass() {
  return {
      .name = "mixed",
      .nodes = {Draw{.output = "noise"}, Reals{}, Application{kMaker, {{"noise", "noise"}}, "fake"},
                Join{"mixed", {"real", "fake"}, "both"},
                Application{kJudge, {{"image", "both"}}, "logit"},
                Loss{.function = "judged", .inputs = {"logit"}},
                Loss{.function = "near", .inputs = {"fake", "real"}, .shown_with = kMaker}}};
}

std::vector<Phase> phases_of(Pass pass) {
  return completed({Phase{.name = "one", .networks = {kMaker}, .passes = {std::move(pass)}}});
}

TEST(ChunkIds, AreBesideWhoTakesAJoinAndWhoseOutputALossLooksAt) {
  EXPECT_THAT(chunk_ids_of(mixed_pass()),
              ElementsAre(std::nullopt, std::nullopt, ChunkId{kMaker}, ChunkId{kJudge},
                          ChunkId{kJudge}, ChunkId{kJudge}, ChunkId{kMaker}));
}

TEST(PassShares, SendWhatIsTakenElsewhereAndWantItsGradient) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  const PassShares shares(phases, Layout{on({0}, 1), on({1}, 1)}, 0);
  const PassShare& maker = shares.of(0, 0, 0);
  EXPECT_THAT(maker.mine, ElementsAre(true, true, true, false, false, false, true));
  EXPECT_THAT(maker.sends,
              ElementsAre(Crossing{
                  .node = 2, .peer = 1, .outputs = {0}, .has_gradient = true, .last_consumer = 3}));
  EXPECT_TRUE(maker.receives.empty());
}

TEST(PassShares, KnowFromWhomToWhomTensorsGo) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  using Edges = std::set<std::pair<int, int>>;
  const auto edges = [&](int worker) {
    return PassShares(phases, Layout{on({0}, 2), on({1, 2}, 2)}, worker).edges();
  };
  EXPECT_EQ(edges(0), (Edges{{0, 1}, {0, 2}, {1, 0}, {2, 0}}));  // tensors, and their gradients
  EXPECT_EQ(edges(1), (Edges{{0, 1}, {1, 0}}));
  EXPECT_EQ(edges(2), (Edges{{0, 2}, {2, 0}}));
}

TEST(PassShares, MakeDrawsAndRealsWhereverTheyAreTaken) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  const PassShares shares(phases, Layout{on({0}, 1), on({1}, 1)}, 1);
  const PassShare& judge = shares.of(0, 0, 0);
  EXPECT_THAT(judge.mine, ElementsAre(false, true, false, true, true, true, false));
  EXPECT_EQ(judge.receives.size(), 1U);
  EXPECT_TRUE(judge.sends.empty());
}

TEST(PassShares, LeaveAMicrobatchWholeThatOneWorkerHas) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  const PassShares shares(phases, Layout{on({0, 1}, 2), on({1}, 2)}, 1);
  EXPECT_TRUE(shares.of(0, 0, 0).crosses());
  EXPECT_FALSE(shares.of(0, 0, 1).crosses());
}

TEST(PassShares, KnowWithWhomTensorsAreExchanged) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  EXPECT_THAT(PassShares(phases, Layout{on({0, 3}, 2), on({1, 2}, 2)}, 0).peers(), ElementsAre(1));
  EXPECT_THAT(PassShares(phases, Layout{on({0}, 2), on({1, 2}, 2)}, 0).peers(), ElementsAre(1, 2));
  EXPECT_THAT(PassShares(phases, Layout{on({0}, 2), on({1, 2}, 2)}, 2).peers(), ElementsAre(0));
  EXPECT_THAT(PassShares(phases, Layout{on({0, 1}, 2), on({0, 1}, 2)}, 0).peers(), ElementsAre());
}

TEST(PassShares, CountTheirInstructions) {
  const std::vector<Phase> phases = phases_of(mixed_pass());
  const Pass& pass = phases.front().passes.front();
  // First worker: forward, send, gradient, backward. Second: receive, forward, backward, gradient.
  EXPECT_EQ(
      PassShares(phases, Layout{on({0}, 1), on({1}, 1)}, 0).of(0, 0, 0).num_instructions(pass), 4);
  EXPECT_EQ(
      PassShares(phases, Layout{on({0}, 1), on({1}, 1)}, 1).of(0, 0, 0).num_instructions(pass), 4);
}

/// Returns a pass in which three networks take one tensor, in this order.
Pass thrice_taken(const std::vector<NetworkId>& takers) {
  Pass pass{.name = "thrice",
            .nodes = {Draw{.output = "noise"}, Application{kMaker, {{"noise", "noise"}}, "fake"}}};
  for (std::size_t i = 0; i < takers.size(); ++i) {
    const std::string name = "seen" + std::to_string(i);
    pass.nodes.emplace_back(Application{takers[i], {{"image", "fake"}}, name});
    pass.nodes.emplace_back(Loss{.function = "judged", .inputs = {name}});
  }
  return pass;
}

TEST(PassShares, RefuseASumThatWouldComeOutInAnotherOrder) {
  const auto share = [](const std::vector<NetworkId>& takers) {
    const std::vector<Phase> phases = phases_of(thrice_taken(takers));
    return PassShares(phases, Layout{on({0}, 1), on({1}, 1)}, 0).of(0, 0, 0).sends.size();
  };
  // In the backward pass the last taker's gradient comes first.
  EXPECT_EQ(share({kMaker, kJudge, kJudge}), 1U);
  EXPECT_EQ(share({kMaker, kJudge, kMaker}), 1U);
  EXPECT_THROW((void)share({kJudge, kJudge, kMaker}), ConfigError);
  EXPECT_THROW((void)share({kJudge, kMaker, kJudge}), ConfigError);
}

}  // namespace
}  // namespace gangway::pipeline
