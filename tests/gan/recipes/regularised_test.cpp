// SPDX-License-Identifier: MIT
// The discriminator's passes with noisy labels or LeCam regularisation.
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Draw;
using pipeline::Loss;
using pipeline::Node;
using pipeline::Phase;
using pipeline::Running;

template <typename Kind>
std::vector<Kind> nodes_of(const std::vector<Node>& nodes) {
  std::vector<Kind> found;
  for (const Node& node : nodes) {
    if (const auto* one = std::get_if<Kind>(&node)) {
      found.push_back(*one);
    }
  }
  return found;
}

TEST(RegularisedRecipe, GivesRealImagesTargetsOnlyWhereTheJobChangesThem) {
  JobSpec job;
  EXPECT_TRUE(nodes_of<Draw>(adversarial_phases(job)[0].passes[0].nodes).empty());
  job.training.labels.noise = 0.1;
  const std::vector<Phase> phases = adversarial_phases(job);
  const std::vector<Node>& real = phases[0].passes[0].nodes;
  ASSERT_EQ(nodes_of<Draw>(real).size(), 1U);
  EXPECT_EQ(nodes_of<Draw>(real)[0].kind, Draw::Kind::kTargets);
  ASSERT_EQ(nodes_of<Loss>(real).size(), 1U);
  EXPECT_EQ(nodes_of<Loss>(real)[0].function, "nonsaturating-targets");
  // One-sided: generated images, and the generator's passes, are unchanged.
  EXPECT_EQ(phases[0].passes[1], adversarial_phases({})[0].passes[1]);
  EXPECT_EQ(phases[1].passes, adversarial_phases({})[1].passes);
}

TEST(RegularisedRecipe, TakesTheOtherMeanBeforeItMovesItsOwn) {
  JobSpec job;
  job.training.loss = LossKind::kHinge;
  job.training.lecam.weight = 0.3;
  const std::vector<Phase> phases = adversarial_phases(job);
  for (const auto& [pass, own, other] :
       {std::tuple(0U, kLecamReal, kLecamFake), std::tuple(1U, kLecamFake, kLecamReal)}) {
    const std::vector<Node>& nodes = phases[0].passes[pass].nodes;
    ASSERT_EQ(nodes_of<Running>(nodes).size(), 1U);
    EXPECT_EQ(nodes_of<Running>(nodes)[0].statistic, other);
    const Application judged = nodes_of<Application>(nodes).back();
    EXPECT_EQ(judged.network, kDiscriminator);
    EXPECT_EQ(judged.statistic, own);
    const std::vector<Loss> losses = nodes_of<Loss>(nodes);
    ASSERT_EQ(losses.size(), 2U);
    EXPECT_EQ(losses[1].function, "lecam");
    EXPECT_EQ(losses[1].weight, 0.3);
    EXPECT_EQ(losses[1].inputs.front(), judged.output);
    EXPECT_EQ(losses[1].inputs.back(), nodes_of<Running>(nodes)[0].output);
    // No instruction lies between them, so a running exchange cannot change the means in between.
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
      if (std::holds_alternative<Running>(nodes[i])) {
        EXPECT_TRUE(std::holds_alternative<Application>(nodes[i + 1]));
      }
    }
  }
  EXPECT_EQ(phases[1].passes.size(), 1U);
  EXPECT_TRUE(nodes_of<Running>(phases[1].passes[0].nodes).empty());
}

TEST(RegularisedRecipe, LeavesOtherJobsAsTheyWere) {
  JobSpec job;
  job.training.lecam.decay = 0.5;  // without a weight
  EXPECT_EQ(adversarial_phases(job)[0].passes, adversarial_phases({})[0].passes);
}

TEST(RegularisedRecipe, LetsTheGeneratorTakeUpFakesAllTheSame) {
  JobSpec job;
  job.model.classes = 10;
  job.training.reuse_fakes = true;
  job.training.lecam.weight = 0.3;
  EXPECT_TRUE(adversarial_phases(job)[1].passes[0].recall.has_value());  // it reuses the fakes
}

}  // namespace
}  // namespace gangway::gan
