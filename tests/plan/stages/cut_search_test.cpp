// SPDX-License-Identifier: MIT
#include "plan/stages/cut_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::plan {
namespace {

using ::testing::ElementsAre;

ChainCosts chain(std::vector<double> blocks) {
  const std::vector<double> ends(blocks.size(), 0.0);
  return {.blocks = std::move(blocks), .ends = ends};
}

TEST(CutSearch, MakesTheDearestStageCostLeast) {
  EXPECT_THAT(best_cuts({chain({9, 1, 1, 1})}, 2), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(best_cuts({chain({1, 1, 1, 3, 3})}, 3), ElementsAre(ElementsAre(3, 4)));
}

TEST(CutSearch, LetsOneNetworkMakeUpForWhatTheOtherIsShortOf) {
  // Separate searches would cut both networks at 1, and the first stage would have 10 of 14.
  EXPECT_THAT(best_cuts({chain({5, 1, 1}), chain({1, 1, 5})}, 2),
              ElementsAre(ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(best_cuts({chain({8, 1}), chain({1, 1, 6})}, 2),
              ElementsAre(ElementsAre(1), ElementsAre(1)));
}

TEST(CutSearch, OrHalvesEachByItself) {
  const std::vector<ChainCosts> chains{chain({3, 1, 1, 1}), chain({1, 1, 1, 9})};
  EXPECT_THAT(best_cuts(chains, 2), ElementsAre(ElementsAre(3), ElementsAre(3)));
  EXPECT_THAT(cuts_alone(chains, 2), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST(CutSearch, AvoidsWhatIsDearToSend) {
  EXPECT_THAT(best_cuts({{.blocks = {2, 2, 2, 2}, .ends = {0, 9, 0, 0}}}, 2),
              ElementsAre(ElementsAre(1)));
}

TEST(CutSearch, CutsSeveralNetworksEachByItself) {
  const ChainCosts even = chain({1, 1, 1, 1});
  EXPECT_THAT(best_cuts({even, chain({4, 1, 1}), even}, 2),
              ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(2)));
}

}  // namespace
}  // namespace gangway::plan
