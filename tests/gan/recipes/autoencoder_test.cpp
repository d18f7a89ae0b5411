// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Loss;
using pipeline::Phase;
using ::testing::ElementsAre;

template <typename Node>
std::vector<Node> nodes_of(const Phase& phase) {
  std::vector<Node> found;
  for (const pipeline::Node& node : phase.passes.at(0).nodes) {
    if (const auto* wanted = std::get_if<Node>(&node)) {
      found.push_back(*wanted);
    }
  }
  return found;
}

TEST(AutoencoderRecipe, TrainsBothNetworksInOnePhase) {
  JobSpec job = JobSpec::of(*recipe_named("vae"));
  job.training.autoencoder = {.reconstruction = Reconstruction::kAbsolute, .kl_weight = 4.0};
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_THAT(phases[0].networks, ElementsAre(job.id_of("decoder"), job.id_of("encoder")));
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_FALSE(phases[0].agrees);
  const std::vector<Loss> losses = nodes_of<Loss>(phases[0]);
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0].function, "reconstruction-absolute");
  EXPECT_EQ(losses[0].shown_with, job.id_of("decoder"));
  EXPECT_EQ(losses[1].function, "gaussian-kl");
  EXPECT_EQ(losses[1].weight, 4.0);
  job.network("encoder").clip_norm = 1.0;
  EXPECT_TRUE(phases_of(job)[0].agrees);
}

TEST(AutoencoderRecipe, TellsTheDecoderTheLabel) {
  JobSpec job = JobSpec::of(*recipe_named("vae"));
  EXPECT_EQ(nodes_of<Application>(phases_of(job)[0]).at(1).inputs.size(), 1U);
  job.model.classes = 10;
  EXPECT_THAT(
      nodes_of<Application>(phases_of(job)[0]).at(1).inputs,
      ElementsAre(pipeline::Input{"noise", "latent"}, pipeline::Input{"labels", "real_labels"}));
}

TEST(Recipes, HaveTheirPhases) {
  for (const Recipe& recipe : recipes()) {
    JobSpec job = JobSpec::of(recipe);
    job.model.codes = recipe.has_codes ? 1 : 0;
    EXPECT_FALSE(phases_of(job).empty()) << recipe.name;
  }
}

}  // namespace
}  // namespace gangway::gan
