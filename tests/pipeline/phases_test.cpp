// SPDX-License-Identifier: MIT
#include "pipeline/phases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

TEST(Phases, TrainTheDiscriminatorOnRealsThenFakesThenTheGenerator) {
  const std::vector<Phase> phases = phases_of(JobSpec{});
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].name, "discriminator");
  EXPECT_EQ(phases[0].network, NetworkId::kDiscriminator);
  EXPECT_THAT(phases[0].passes, ElementsAre(PassKind::kReal, PassKind::kFake));
  EXPECT_EQ(phases[1].name, "generator");
  EXPECT_EQ(phases[1].network, NetworkId::kGenerator);
  EXPECT_THAT(phases[1].passes, ElementsAre(PassKind::kGenerate));
}

TEST(Phases, HaveTheirPositionAsIndex) {
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 16};
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 3U);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i].index, static_cast<int>(i));
  }
}

TEST(Phases, CoupleRealsAndFakesForARelativisticLoss) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  const std::vector<Phase> phases = phases_of(job);
  EXPECT_THAT(phases[0].passes, ElementsAre(PassKind::kRealFakePair));
  EXPECT_THAT(phases[1].passes, ElementsAre(PassKind::kGeneratePair));
}

TEST(Phases, RepeatOnlyTheDiscriminatorForSeveralCriticSteps) {
  JobSpec job;
  job.discriminator.steps = 5;
  const std::vector<Phase> phases = phases_of(job);
  EXPECT_EQ(phases[0].repeats, 5);
  EXPECT_EQ(phases[1].repeats, 1);
}

TEST(Phases, PutAPenaltyOfEveryStepBehindTheDiscriminatorsPasses) {
  JobSpec job;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0};
  EXPECT_THAT(phases_of(job)[0].passes, ElementsAre(PassKind::kReal, PassKind::kFake,
                                                    PassKind::kGradientPenalty, PassKind::kR1));
}

TEST(Phases, PutALazyPenaltyIntoAPhaseOfItsOwn) {
  JobSpec job;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r1_interval = 4};
  job.discriminator.steps = 2;
  job.discriminator.clip_norm = 0.5;
  const std::vector<Phase> phases = phases_of(job);
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_THAT(phases[0].passes,
              ElementsAre(PassKind::kReal, PassKind::kFake, PassKind::kGradientPenalty));
  EXPECT_EQ(phases[1].name, "discriminator_regulariser");
  EXPECT_EQ(phases[1].network, NetworkId::kDiscriminator);
  EXPECT_THAT(phases[1].passes, ElementsAre(PassKind::kR1));
  EXPECT_EQ(phases[1].interval, 4);
  EXPECT_EQ(phases[1].repeats, 1);
  EXPECT_EQ(phases[1].clip_norm, 0.5);
}

TEST(Phases, CarryEachNetworksOwnClipping) {
  JobSpec job;
  job.generator.clip_norm = 2.0;
  const std::vector<Phase> phases = phases_of(job);
  EXPECT_EQ(phases[0].clip_norm, 0.0);
  EXPECT_EQ(phases[1].clip_norm, 2.0);
}

TEST(Phases, RunInTheFirstStepAndThenEveryInterval) {
  const Phase lazy{.interval = 4};
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 9; ++step) {
    if (runs_in(lazy, step)) {
      steps.push_back(step);
    }
  }
  EXPECT_THAT(steps, ElementsAre(0, 4, 8));
}

TEST(Phases, CorrectTheOptimiserOnlyForALazyRegulariser) {
  JobSpec job;
  EXPECT_EQ(laziness_of(job), 1.0);
  job.training.penalty.r1_interval = 4;  // of a penalty that is off
  EXPECT_EQ(laziness_of(job), 1.0);
  job.training.penalty.r1_gamma = 1.0;
  EXPECT_EQ(laziness_of(job), 4.0 / 5.0);
  job.discriminator.steps = 3;
  EXPECT_EQ(laziness_of(job), 12.0 / 13.0);
  job.discriminator.steps = 1;
  job.training.penalty.r1_interval = 1;
  EXPECT_EQ(laziness_of(job), 1.0);
}

}  // namespace
}  // namespace gangway::pipeline
