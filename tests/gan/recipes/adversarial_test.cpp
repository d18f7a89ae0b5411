// SPDX-License-Identifier: MIT
#include "gan/recipes/adversarial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/recipes.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::gan {
namespace {

using pipeline::Phase;
using ::testing::ElementsAre;

std::vector<std::string> names_of(const std::vector<pipeline::Pass>& passes) {
  std::vector<std::string> names;
  for (const pipeline::Pass& pass : passes) {
    names.push_back(pass.name);
  }
  return names;
}

TEST(AdversarialRecipe, TrainsTheDiscriminatorOnRealsThenFakesThenTheGenerator) {
  const std::vector<Phase> phases = adversarial_phases(JobSpec{});
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].name, "discriminator");
  EXPECT_THAT(phases[0].networks, ElementsAre(kDiscriminator));
  EXPECT_THAT(names_of(phases[0].passes), ElementsAre("real", "fake"));
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_EQ(phases[1].name, "generator");
  EXPECT_THAT(phases[1].networks, ElementsAre(kGenerator));
  EXPECT_THAT(names_of(phases[1].passes), ElementsAre("generate"));
  EXPECT_FALSE(phases[1].takes_reals);
}

TEST(AdversarialRecipe, CouplesRealsAndFakesForARelativisticLoss) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_THAT(names_of(phases[0].passes), ElementsAre("pair"));
  EXPECT_THAT(names_of(phases[1].passes), ElementsAre("generate_pair"));
}

/// Returns the tensors that a pass takes as labels, by node.
std::vector<std::string> labels_in(const pipeline::Pass& pass) {
  std::vector<std::string> found;
  const auto add = [&found](const std::vector<pipeline::Input>& inputs) {
    for (const pipeline::Input& input : inputs) {
      if (input.name == "labels") {
        found.push_back(input.tensor);
      }
    }
  };
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* application = std::get_if<pipeline::Application>(&node)) {
      add(application->inputs);
    } else if (const auto* penalty = std::get_if<pipeline::Penalty>(&node)) {
      add(penalty->inputs);
    }
  }
  return found;
}

std::vector<pipeline::Draw::Kind> draws_in(const pipeline::Pass& pass) {
  std::vector<pipeline::Draw::Kind> found;
  for (const pipeline::Node& node : pass.nodes) {
    if (const auto* draw = std::get_if<pipeline::Draw>(&node)) {
      found.push_back(draw->kind);
    }
  }
  return found;
}

TEST(AdversarialRecipe, GivesTheExamplesOfAPairOneLabelInBothPhases) {
  JobSpec job;
  job.model.classes = 10;
  job.training.loss = LossKind::kRelativistic;
  job.training.penalty = {.r1_gamma = 1.0, .r2_gamma = 1.0};
  for (const Phase& phase : adversarial_phases(job)) {
    for (const pipeline::Pass& pass : phase.passes) {
      EXPECT_THAT(labels_in(pass), ::testing::Each("real_labels")) << pass.name;
      EXPECT_THAT(draws_in(pass), ::testing::Each(pipeline::Draw::Kind::kNoise)) << pass.name;
    }
  }
  job.training.loss = LossKind::kHinge;  // compares no pairs, so fakes have their own labels
  EXPECT_THAT(labels_in(adversarial_phases(job)[0].passes[1]), ::testing::Each("fake_labels"));
}

TEST(AdversarialRecipe, TakesUpTheFakesOfAPairWithTheirRealLabels) {
  JobSpec job;
  job.model.classes = 10;
  job.training.loss = LossKind::kRelativistic;
  job.training.reuse_fakes = true;
  const std::vector<Phase> phases = adversarial_phases(job);
  const pipeline::Pass& pass = phases[1].passes[0];
  ASSERT_TRUE(pass.recall.has_value());
  EXPECT_EQ(pass.recall->nodes, 3);  // the real examples, the noise, the generator
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(pass.nodes[i] == phases[0].passes[0].nodes[i]) << i;
  }
}

TEST(AdversarialRecipe, DrawsLabelsAsTheDataHaveThemWhereTheJobSaysSo) {
  JobSpec job;
  job.model.classes = 10;
  using Kind = pipeline::Draw::Kind;
  EXPECT_THAT(draws_in(adversarial_phases(job)[0].passes[1]),
              ElementsAre(Kind::kNoise, Kind::kLabels));
  job.training.fake_labels = FakeLabels::kData;
  EXPECT_THAT(draws_in(adversarial_phases(job)[0].passes[1]),
              ElementsAre(Kind::kNoise, Kind::kDataLabels));
}

TEST(AdversarialRecipe, ShowsTheGeneratorsPhaseNewRealExamplesWhereTheJobSaysSo) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  job.network("discriminator").steps = 2;
  EXPECT_FALSE(adversarial_phases(job)[1].takes_reals);
  EXPECT_EQ(job.real_batches_per_step(), 2);
  job.training.generator_reals = GeneratorReals::kNew;
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_TRUE(phases[1].takes_reals);
  EXPECT_EQ(phases[0].first_reals, 0);
  EXPECT_EQ(phases[1].first_reals, 2);
  EXPECT_EQ(job.real_batches_per_step(), 3);
  EXPECT_EQ(job.images_per_step(), 2 * job.training.batch);  // images that the discriminator sees
}

TEST(AdversarialRecipe, ShowsTheGeneratorTheStepsFirstExamplesBesideAFrozenDiscriminator) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  job.network("discriminator").is_frozen = true;
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_TRUE(phases[0].takes_reals);
  EXPECT_EQ(phases[0].first_reals, 0);
}

TEST(AdversarialRecipe, RepeatsOnlyTheDiscriminatorForSeveralCriticSteps) {
  JobSpec job;
  job.network("discriminator").steps = 5;
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_EQ(phases[0].repeats, 5);
  EXPECT_EQ(phases[1].repeats, 1);
}

TEST(AdversarialRecipe, PutsAPenaltyOfEveryStepBehindTheDiscriminatorsPasses) {
  JobSpec job;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0};
  EXPECT_THAT(names_of(adversarial_phases(job)[0].passes),
              ElementsAre("real", "fake", "gradient_penalty", "r1"));
}

TEST(AdversarialRecipe, PutsALazyPenaltyIntoAPhaseOfItsOwnBehindTheGenerators) {
  JobSpec job;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r1_interval = 4};
  job.network("discriminator").steps = 2;
  job.network("discriminator").clip_norm = 0.5;
  const std::vector<Phase> phases = adversarial_phases(job);
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_THAT(names_of(phases[0].passes), ElementsAre("real", "fake", "gradient_penalty"));
  EXPECT_EQ(phases[1].name, "generator");
  EXPECT_EQ(phases[2].name, "discriminator_regulariser");
  EXPECT_THAT(phases[2].networks, ElementsAre(kDiscriminator));
  EXPECT_THAT(names_of(phases[2].passes), ElementsAre("r1"));
  EXPECT_EQ(phases[2].interval, 4);
  EXPECT_EQ(phases[2].repeats, 1);
  EXPECT_TRUE(phases[2].agrees);
  EXPECT_FALSE(phases[2].takes_reals);
  // The penalty counts for three steps without it, and is not part of the shown loss.
  const auto& penalty = std::get<pipeline::Penalty>(phases[2].passes[0].nodes.back());
  EXPECT_EQ(penalty.weight, 4.0);
  EXPECT_FALSE(penalty.shown_with.has_value());
}

TEST(AdversarialRecipe, RegularisesGeneratedImagesBesideRealOnes) {
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r2_gamma = 2.0};
  EXPECT_THAT(names_of(adversarial_phases(job)[0].passes), ElementsAre("real", "fake", "r1", "r2"));
  job.training.penalty = {.r1_interval = 16, .r2_gamma = 2.0};
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_THAT(names_of(phases[0].passes), ElementsAre("real", "fake"));
  EXPECT_THAT(names_of(phases[2].passes), ElementsAre("r2"));
  const auto& penalty = std::get<pipeline::Penalty>(phases[2].passes[0].nodes.back());
  EXPECT_EQ(penalty.weight, 32.0);
  EXPECT_EQ(penalty.inputs.front().tensor, "fake");
}

TEST(AdversarialRecipe, GivesPenaltiesTheirSchedules) {
  JobSpec job;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r2_gamma = 1.0};
  job.training.penalty.gamma_schedule = {.warmup_kimg = 3.0};
  job.training.penalty.gradient_schedule = {.warmup_kimg = 5.0};
  const auto schedules = [&job] {
    std::vector<ScheduleSpec> found;
    const std::vector<Phase> phases = adversarial_phases(job);
    for (const pipeline::Pass& pass : phases[0].passes) {
      if (const auto* penalty = std::get_if<pipeline::Penalty>(&pass.nodes.back())) {
        found.push_back(penalty->schedule);
      }
    }
    return found;
  };
  const ScheduleSpec gradient{.warmup_kimg = 5.0};
  const ScheduleSpec gamma{.warmup_kimg = 3.0};
  EXPECT_THAT(schedules(), ElementsAre(gradient, gamma, gamma));
  job.training.penalty.gamma_schedule = {};
  job.training.penalty.final_factor = 0.1;
  const ScheduleSpec older{.decay = DecayKind::kCosine, .final_value = 0.1};
  EXPECT_THAT(schedules(), ElementsAre(gradient, older, older));
}

TEST(AdversarialRecipe, PutsPathLengthsBehindAllOthersOnHalfOfTheExamples) {
  JobSpec job;
  job.model.classes = 10;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 16};
  job.training.path_length = {.weight = 2.0};
  job.network("generator").clip_norm = 0.5;
  const std::vector<Phase> phases = adversarial_phases(job);
  ASSERT_EQ(phases.size(), 4U);
  EXPECT_EQ(phases[2].name, "discriminator_regulariser");
  EXPECT_EQ(phases[3].name, "generator_regulariser");
  EXPECT_THAT(phases[3].networks, ElementsAre(kGenerator));
  EXPECT_EQ(phases[3].interval, 4);
  EXPECT_TRUE(phases[3].agrees);
  EXPECT_FALSE(phases[3].takes_reals);
  EXPECT_THAT(names_of(phases[3].passes), ElementsAre("path_length"));
  const std::vector<pipeline::Node>& nodes = phases[3].passes[0].nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(std::get<pipeline::Draw>(nodes[0]).share, 2);
  EXPECT_EQ(std::get<pipeline::Draw>(nodes[1]).share, 2);
  const auto& penalty = std::get<pipeline::Penalty>(nodes[2]);
  EXPECT_EQ(penalty.weight, 8.0);  // it counts for three steps without it
  EXPECT_FALSE(penalty.shown_with.has_value());
  EXPECT_EQ(pipeline::harvests_of(phases[3], kGenerator), 1);
  EXPECT_EQ(pipeline::harvests_of(phases[2], kDiscriminator), 0);
  EXPECT_DOUBLE_EQ(pipeline::laziness_of(phases, kGenerator), 4.0 / 5.0);
}

TEST(AdversarialRecipe, AddsPathLengthsOfEveryStepToTheGeneratorsPhase) {
  JobSpec job;
  job.training.path_length = {.weight = 2.0, .interval = 1};
  const std::vector<Phase> phases = adversarial_phases(job);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(names_of(phases[1].passes), ElementsAre("generate", "path_length"));
  const auto& penalty = std::get<pipeline::Penalty>(phases[1].passes[1].nodes.back());
  EXPECT_EQ(penalty.weight, 2.0);
  EXPECT_EQ(penalty.shown_with, kGenerator);
}

TEST(AdversarialRecipe, AgreesOnTheNormWhereTheNetworkIsClipped) {
  JobSpec job;
  job.network("generator").clip_norm = 2.0;
  const std::vector<Phase> phases = adversarial_phases(job);
  EXPECT_FALSE(phases[0].agrees);
  EXPECT_TRUE(phases[1].agrees);
}

TEST(AdversarialRecipe, GivesLabelsToBothNetworksOfAConditionalJobAndToNoOthers) {
  for (const int classes : {0, 10}) {
    JobSpec job;
    job.model.classes = classes;
    job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0};
    for (const Phase& phase : adversarial_phases(job)) {
      for (const pipeline::Pass& pass : phase.passes) {
        for (const pipeline::Node& node : pass.nodes) {
          if (const auto* application = std::get_if<pipeline::Application>(&node)) {
            EXPECT_EQ(application->inputs.size(), classes > 0 ? 2U : 1U) << pass.name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace gangway::gan
