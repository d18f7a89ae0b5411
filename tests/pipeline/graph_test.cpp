// SPDX-License-Identifier: MIT
#include "pipeline/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr NetworkId kG = kGenerator;
constexpr NetworkId kD = kDiscriminator;

TEST(GradientFlow, LeavesOutWhatNoLossLooksAt) {
  const Pass pass{"p",
                  {Draw{.output = "noise"}, Application{kG, {{"noise", "noise"}}, "seen"},
                   Application{kG, {{"noise", "noise"}}, "unseen"}, Loss{"l", {"seen"}}}};
  EXPECT_THAT(gradient_flow(pass, {kG}), ElementsAre(false, true, false, true));
}

TEST(GradientFlow, LeavesOutWhatDoesNotDependOnATrainedNetwork) {
  const Pass pass{"p",
                  {Reals{}, Draw{.output = "noise"}, Application{kG, {{"noise", "noise"}}, "fake"},
                   Application{kD, {{"image", "real"}}, "real_logits"},
                   Application{kD, {{"image", "fake"}}, "fake_logits"},
                   Loss{"l", {"fake_logits", "real_logits"}}}};
  EXPECT_THAT(gradient_flow(pass, {kG}), ElementsAre(false, false, true, false, true, true));
  EXPECT_THAT(gradient_flow(pass, {kD}), ElementsAre(false, false, false, true, true, true));
  EXPECT_THAT(gradient_flow(pass, {kG, kD}), ElementsAre(false, false, true, true, true, true));
}

TEST(GradientFlow, EndsAtADetachedTensor) {
  const Pass pass{"p",
                  {Draw{.output = "noise"}, Application{kG, {{"noise", "noise"}}, "fake"},
                   Join{std::string(kDetached), {"fake"}, "given"},
                   Application{kD, {{"image", "given"}}, "logits"}, Loss{"l", {"logits"}}}};
  EXPECT_THAT(gradient_flow(pass, {kG, kD}), ElementsAre(false, false, false, true, true));
  EXPECT_THAT(gradient_flow(pass, {kG}), ElementsAre(false, false, false, false, false));
}

TEST(GradientFlow, GoesThroughJoinsToAllThatTheyTake) {
  const Pass pass{
      "p",
      {Reals{}, Draw{.output = "noise"}, Draw{Draw::Kind::kMix, "share"},
       Application{kG, {{"noise", "noise"}}, "fake"},
       Join{"interpolation", {"real", "fake", "share"}, "between"}, Loss{"l", {"between"}}}};
  EXPECT_THAT(gradient_flow(pass, {kG}), ElementsAre(false, false, false, true, true, true));
}

TEST(GradientFlow, EndsAtPenalties) {
  // Penalties use values only, and compute the gradients of the weights by themselves.
  const Pass pass{"p",
                  {Draw{.output = "noise"}, Application{kG, {{"noise", "noise"}}, "fake"},
                   Penalty{kD, "r1", 1.0, {{"image", "fake"}}}}};
  EXPECT_THAT(gradient_flow(pass, {kG, kD}), ElementsAre(false, false, false));
}

TEST(GradientFlow, RefusesTensorsThatNobodyMakesOrThatTwoMake) {
  const Pass missing{"p", {Application{kG, {{"noise", "noise"}}, "fake"}}};
  EXPECT_THROW(static_cast<void>(gradient_flow(missing, {})), InvariantError);
  const Pass late{"p", {Application{kG, {{"noise", "noise"}}, "fake"}, Draw{.output = "noise"}}};
  EXPECT_THROW(static_cast<void>(gradient_flow(late, {})), InvariantError);
  const Pass twice{"p", {Draw{.output = "noise"}, Draw{.output = "noise", .stream = 1}}};
  EXPECT_THROW(static_cast<void>(gradient_flow(twice, {})), InvariantError);
}

}  // namespace
}  // namespace gangway::pipeline
