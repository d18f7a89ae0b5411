// SPDX-License-Identifier: MIT
// The phases of the image-to-image recipes.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using pipeline::Application;
using pipeline::Loss;
using pipeline::Pass;
using pipeline::Phase;
using ::testing::ElementsAre;

template <typename Node>
std::vector<Node> of_kind(const Pass& pass) {
  std::vector<Node> found;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* wanted = std::get_if<Node>(&node)) {
      found.push_back(*wanted);
    }
  }
  return found;
}

TEST(Pix2pixRecipe, JudgesThePairsThenMakesThem) {
  JobSpec job = JobSpec::of(*recipe_named("pix2pix"));
  job.training.translation.l1_weight = 7.0;
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].networks, ElementsAre(job.id_of("discriminator")));
  EXPECT_TRUE(phases[0].takes_reals);
  const std::vector<Loss> judged = of_kind<Loss>(phases[0].passes.at(0));
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[0].function, "nonsaturating-fake");
  EXPECT_EQ(judged[0].weight, 0.5);
  EXPECT_EQ(judged[1].function, "nonsaturating-real");
  EXPECT_FALSE(phases[1].takes_reals);
  const std::vector<Loss> learnt = of_kind<Loss>(phases[1].passes.at(0));
  ASSERT_EQ(learnt.size(), 2U);
  EXPECT_EQ(learnt[0].function, "nonsaturating-generator");
  EXPECT_EQ(learnt[1].function, "mean-absolute");
  EXPECT_EQ(learnt[1].weight, 7.0);
  EXPECT_FALSE(phases[1].passes[0].recall);
  job.training.reuse_fakes = true;
  EXPECT_EQ(phases_of(job)[1].passes[0].recall->nodes, 4);
}

TEST(CycleganRecipe, MakesBothWaysThenJudgesWhatWasKept) {
  JobSpec job = JobSpec::of(*recipe_named("cyclegan"));
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].networks,
              ElementsAre(job.id_of("generator_ab"), job.id_of("generator_ba")));
  EXPECT_THAT(phases[1].networks,
              ElementsAre(job.id_of("discriminator_b"), job.id_of("discriminator_a")));
  std::vector<double> weights;
  for (const Loss& loss : of_kind<Loss>(phases[0].passes.at(0))) {
    weights.push_back(loss.weight);
  }
  EXPECT_THAT(weights, ElementsAre(1.0, 10.0, 5.0, 1.0, 10.0, 5.0));
  EXPECT_THAT(pipeline::pools_of(phases), ElementsAre("fake_b", "fake_a"));
  const Pass& judge = phases[1].passes.at(0);
  EXPECT_EQ(judge.recall->nodes, 5);
  EXPECT_EQ(of_kind<Application>(judge).size(), 2U + 4U);
  // Kept images have no gradient to the generators.
  for (std::size_t i = 0; i < judge.nodes.size(); ++i) {
    EXPECT_FALSE(std::holds_alternative<pipeline::Pool>(judge.nodes[i]) && judge.has_gradient[i]);
  }
  job.training.translation.pool = 0;
  job.training.translation.identity_weight = 0.0;
  EXPECT_THAT(pipeline::pools_of(phases_of(job)), ElementsAre());
  EXPECT_EQ(of_kind<Loss>(phases_of(job)[0].passes.at(0)).size(), 4U);
}

TEST(CycleganRecipe, DrawsApartInEachApplicationOfAPass) {
  const JobSpec job = JobSpec::of(*recipe_named("cyclegan"));
  std::vector<int> streams;
  for (const Application& one : of_kind<Application>(phases_of(job)[0].passes.at(0))) {
    if (one.network == job.id_of("generator_ab") || one.network == job.id_of("generator_ba")) {
      streams.push_back(one.stream);
    }
  }
  EXPECT_THAT(streams, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace gangway::gan
