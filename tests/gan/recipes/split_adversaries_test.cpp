// SPDX-License-Identifier: MIT
// Recipes whose discriminator is a trunk and a head.
#include "gan/recipes/split_adversaries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipe_phases.hpp"
#include "gan/recipes/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using pipeline::Loss;
using pipeline::Pass;
using pipeline::Phase;
using ::testing::ElementsAre;

std::vector<Loss> losses_of(const Pass& pass) {
  std::vector<Loss> losses;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* loss = std::get_if<Loss>(&node)) {
      losses.push_back(*loss);
    }
  }
  return losses;
}

JobSpec infogan() {
  JobSpec job = JobSpec::of(*recipe_named("infogan"));
  job.model.codes = 2;
  job.model.categories = 10;
  job.training.information = {.weight = 0.5, .codes = 0.25};
  return job;
}

TEST(InformationRecipe, TrainsTheHeadsWithTheirTrunkThenTheGenerator) {
  JobSpec job = infogan();
  job.network("discriminator").steps = 2;
  job.network("posterior").clip_norm = 1.0;
  const std::vector<Phase> phases = information_phases(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].networks,
              ElementsAre(job.id_of("discriminator"), job.id_of("posterior"), job.id_of("trunk")));
  EXPECT_EQ(phases[0].repeats, 2);
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_TRUE(phases[0].agrees);
  EXPECT_THAT(phases[1].networks, ElementsAre(job.id_of("generator")));
  EXPECT_FALSE(phases[1].agrees);
}

TEST(InformationRecipe, AsksForTheCodesInBothPhasesAndShowsThatOnce) {
  const JobSpec job = infogan();
  const std::vector<Phase> phases = information_phases(job);
  EXPECT_EQ(losses_of(phases[0].passes.at(0)).size(), 1U);  // real examples have no known codes
  for (const Pass& pass : {phases[0].passes.at(1), phases[1].passes.at(0)}) {
    const std::vector<Loss> losses = losses_of(pass);
    ASSERT_EQ(losses.size(), 3U);
    EXPECT_EQ(losses[1].function, "information-codes");
    EXPECT_EQ(losses[1].weight, 0.125);
    EXPECT_EQ(losses[2].function, "information-category");
    EXPECT_EQ(losses[2].weight, 0.5);
  }
  EXPECT_EQ(losses_of(phases[0].passes[1])[2].shown_with, job.id_of("posterior"));
  EXPECT_FALSE(losses_of(phases[1].passes[0])[2].shown_with.has_value());
}

TEST(InformationRecipe, LeavesOutTheKindOfCodeThatThereIsNot) {
  JobSpec job = infogan();
  job.model.codes = 0;
  EXPECT_EQ(losses_of(information_phases(job)[1].passes[0]).size(), 2U);
}

TEST(FeatureAutoencoderRecipe, TrainsTheJudgesThenTheMakers) {
  JobSpec job = JobSpec::of(*recipe_named("vae-gan"));
  job.training.autoencoder = {.kl_weight = 4.0, .adversarial_weight = 20.0};
  const std::vector<Phase> phases = feature_autoencoder_phases(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].networks, ElementsAre(job.id_of("discriminator"), job.id_of("trunk")));
  EXPECT_EQ(phases[0].passes.size(), 3U);
  EXPECT_THAT(phases[1].networks, ElementsAre(job.id_of("generator"), job.id_of("encoder")));
  EXPECT_FALSE(phases[1].takes_reals);
  EXPECT_EQ(losses_of(phases[1].passes.at(0)).at(0).weight, 20.0);
  const std::vector<Loss> losses = losses_of(phases[1].passes.at(1));
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[0].function, "reconstruction-squared");
  EXPECT_THAT(losses[0].inputs, ElementsAre("made_features", "real_features"));
  EXPECT_EQ(losses[1].weight, 4.0);
  EXPECT_EQ(losses[2].weight, 20.0);
}

TEST(FrozenNetworks, AreInNoPhasesList) {
  JobSpec job = JobSpec::of(*recipe_named("vae-gan"));
  job.network("trunk").is_frozen = true;
  std::vector<Phase> phases = phases_of(job);
  EXPECT_THAT(phases.at(0).networks, ElementsAre(job.id_of("discriminator")));
  EXPECT_THAT(phases.at(1).networks, ElementsAre(job.id_of("generator"), job.id_of("encoder")));
  job.network("discriminator").is_frozen = true;
  phases = phases_of(job);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].name, "autoencoder");
  EXPECT_EQ(phases[0].index, 0);
  EXPECT_TRUE(phases[0].takes_reals);  // no earlier phase reads them
}

TEST(FrozenNetworks, EndTheGradient) {
  JobSpec job = JobSpec::of(*recipe_named("vae"));
  job.network("encoder").is_frozen = true;
  const std::vector<Phase> phases = phases_of(job);
  const Pass& pass = phases.at(0).passes.at(0);
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    const auto* application = std::get_if<pipeline::Application>(&pass.nodes[i]);
    if (application != nullptr) {
      EXPECT_EQ(pass.has_gradient[i], application->network == job.id_of("decoder"));
    }
  }
}

}  // namespace
}  // namespace gangway::gan
