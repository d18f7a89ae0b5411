// SPDX-License-Identifier: MIT
// Exact lists of small jobs. schedule_rules_test.cpp has the properties for all jobs.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

/// Returns the schedule as lines, "phase.repeat: what".
std::vector<std::string> lines(const JobSpec& job, MicrobatchRange local, std::int64_t step = 0,
                               Overlap overlap = Overlap::kNone) {
  std::vector<std::string> text;
  for (const Instruction& instruction :
       one_stage_schedule(gan::adversarial_phases(job), local, step, overlap)) {
    text.push_back(std::to_string(instruction.phase) + "." + std::to_string(instruction.repeat) +
                   ": " + describe(instruction, kNetworkNames));
  }
  return text;
}

TEST(Schedule, OfAPlainJobWithOneMicrobatch) {
  EXPECT_THAT(lines(JobSpec{}, {3, 4}),
              ElementsAre("0.0: open leaf of discriminator pass 0 micro-batch 3",
                          "0.0: forward discriminator pass 0 micro-batch 3",
                          "0.0: backward discriminator pass 0 micro-batch 3",
                          "0.0: forward generator pass 1 micro-batch 3",
                          "0.0: forward discriminator pass 1 micro-batch 3",
                          "0.0: backward discriminator pass 1 micro-batch 3",
                          "0.0: close leaf of discriminator pass 0 micro-batch 3",
                          "0.0: reduce discriminator", "0.0: await discriminator",
                          "1.0: open leaf of generator pass 0 micro-batch 3",
                          "1.0: forward generator pass 0 micro-batch 3",
                          "1.0: forward discriminator pass 0 micro-batch 3",
                          "1.0: backward discriminator pass 0 micro-batch 3",
                          "1.0: backward generator pass 0 micro-batch 3",
                          "1.0: close leaf of generator pass 0 micro-batch 3",
                          "1.0: reduce generator", "1.0: await generator"));
}

TEST(Schedule, OfARelativisticJob) {
  JobSpec job;
  job.training.loss = LossKind::kRelativistic;
  EXPECT_THAT(lines(job, {0, 1}),
              ElementsAre("0.0: open leaf of discriminator pass 0 micro-batch 0",
                          "0.0: forward generator pass 0 micro-batch 0",
                          "0.0: forward discriminator pass 0 micro-batch 0",
                          "0.0: forward discriminator pass 0 micro-batch 0",
                          "0.0: backward discriminator pass 0 micro-batch 0",
                          "0.0: backward discriminator pass 0 micro-batch 0",
                          "0.0: close leaf of discriminator pass 0 micro-batch 0",
                          "0.0: reduce discriminator", "0.0: await discriminator",
                          "1.0: open leaf of generator pass 0 micro-batch 0",
                          "1.0: forward generator pass 0 micro-batch 0",
                          "1.0: forward discriminator pass 0 micro-batch 0",
                          "1.0: forward discriminator pass 0 micro-batch 0",
                          "1.0: backward discriminator pass 0 micro-batch 0",
                          "1.0: backward generator pass 0 micro-batch 0",
                          "1.0: close leaf of generator pass 0 micro-batch 0",
                          "1.0: reduce generator", "1.0: await generator"));
}

TEST(Schedule, OfAGradientPenaltyMakesFakesOfItsOwn) {
  JobSpec job;
  job.training.loss = LossKind::kWasserstein;
  job.training.penalty.gradient_penalty = 10.0;
  const std::vector<std::string> all = lines(job, {0, 1});
  EXPECT_THAT(std::vector<std::string>(all.begin() + 6, all.begin() + 9),
              ElementsAre("0.0: forward generator pass 2 micro-batch 0",
                          "0.0: penalty forward discriminator pass 2 micro-batch 0",
                          "0.0: penalty backward discriminator pass 2 micro-batch 0"));
}

TEST(Schedule, OfALazyRegulariserBehindTheGenerator) {
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 4};
  const std::vector<std::string> all = lines(job, {0, 1}, 8);
  const std::vector<std::string> plain = lines(JobSpec{}, {0, 1}, 8);
  ASSERT_EQ(all.size(), plain.size() + 6);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), all.begin()));
  EXPECT_THAT(std::vector<std::string>(all.end() - 6, all.end()),
              ElementsAre("2.0: open leaf of discriminator pass 0 micro-batch 0",
                          "2.0: penalty forward discriminator pass 0 micro-batch 0",
                          "2.0: penalty backward discriminator pass 0 micro-batch 0",
                          "2.0: close leaf of discriminator pass 0 micro-batch 0",
                          "2.0: reduce discriminator", "2.0: await discriminator"));
}

TEST(Schedule, LeavesALazyRegulariserOutInBetween) {
  JobSpec job;
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 4};
  EXPECT_EQ(lines(job, {0, 2}, 3), lines(JobSpec{}, {0, 2}, 3));
}

TEST(Schedule, RecomputesBeforeABackwardAndItsArming) {
  const std::vector<Phase> phases = gan::adversarial_phases(JobSpec{});
  Layout layout = resolve_layout(JobSpec{}, 1);
  layout.overlap = Overlap::kWithin;
  layout.recompute = true;
  const PassShares shares(phases, layout, 0);
  std::vector<std::string> text;
  for (const Instruction& one : step_schedule(shares, 0)) {
    if (one.phase == 1 && one.microbatch + 1 == JobSpec{}.training.microbatches) {
      text.push_back(describe(one, kNetworkNames));
    }
  }
  const std::string pass =
      " pass 0 micro-batch " + std::to_string(JobSpec{}.training.microbatches - 1);
  EXPECT_THAT(text, ElementsAre("open leaf of generator" + pass, "forward generator" + pass,
                                "forward discriminator" + pass, "recompute discriminator" + pass,
                                "backward discriminator" + pass, "recompute generator" + pass,
                                "arm generator" + pass, "backward generator" + pass,
                                "close leaf of generator" + pass));
}

TEST(Schedule, RecomputesNothingThatALaterPhaseTakesUp) {
  const auto recomputed = [](bool reuse_fakes) {
    JobSpec job;
    job.training.reuse_fakes = reuse_fakes;
    return std::ranges::count(
        one_stage_schedule(gan::adversarial_phases(job), {0, 1}, 0, Overlap::kNone, true),
        Operation::kRecompute, &Instruction::operation);
  };
  EXPECT_EQ(recomputed(false), 4);
  // With reused fakes the generator's graph is kept from the discriminator's phase.
  EXPECT_EQ(recomputed(true), 3);
}

TEST(Schedule, FinishesAMicrobatchBeforeTheNext) {
  std::vector<int> order;
  for (const Instruction& instruction :
       one_stage_schedule(gan::adversarial_phases(JobSpec{}), {2, 5}, 0, Overlap::kNone)) {
    if (instruction.operation == Operation::kOpenLeaf) {
      order.push_back(instruction.microbatch);
    }
  }
  EXPECT_THAT(order, ElementsAre(2, 3, 4, 2, 3, 4));
}

TEST(Schedule, OfAWorkerWithoutMicrobatchesStillTakesPartInTheExchange) {
  EXPECT_THAT(lines(JobSpec{}, {2, 2}),
              ElementsAre("0.0: reduce discriminator", "0.0: await discriminator",
                          "1.0: reduce generator", "1.0: await generator"));
}

TEST(Schedule, ArmsTheLastBackwardOfAPhaseWhereTheExchangeRunsWithinIt) {
  EXPECT_THAT(lines(JobSpec{}, {0, 2}, 0, Overlap::kWithin),
              ElementsAre("0.0: open leaf of discriminator pass 0 micro-batch 0",
                          "0.0: forward discriminator pass 0 micro-batch 0",
                          "0.0: backward discriminator pass 0 micro-batch 0",
                          "0.0: forward generator pass 1 micro-batch 0",
                          "0.0: forward discriminator pass 1 micro-batch 0",
                          "0.0: backward discriminator pass 1 micro-batch 0",
                          "0.0: close leaf of discriminator pass 0 micro-batch 0",
                          "0.0: open leaf of discriminator pass 0 micro-batch 1",
                          "0.0: forward discriminator pass 0 micro-batch 1",
                          "0.0: backward discriminator pass 0 micro-batch 1",
                          "0.0: forward generator pass 1 micro-batch 1",
                          "0.0: forward discriminator pass 1 micro-batch 1",
                          "0.0: arm discriminator pass 1 micro-batch 1",
                          "0.0: backward discriminator pass 1 micro-batch 1",
                          "0.0: close leaf of discriminator pass 0 micro-batch 1",
                          "0.0: reduce discriminator", "0.0: await discriminator",
                          "1.0: open leaf of generator pass 0 micro-batch 0",
                          "1.0: forward generator pass 0 micro-batch 0",
                          "1.0: forward discriminator pass 0 micro-batch 0",
                          "1.0: backward discriminator pass 0 micro-batch 0",
                          "1.0: backward generator pass 0 micro-batch 0",
                          "1.0: close leaf of generator pass 0 micro-batch 0",
                          "1.0: open leaf of generator pass 0 micro-batch 1",
                          "1.0: forward generator pass 0 micro-batch 1",
                          "1.0: forward discriminator pass 0 micro-batch 1",
                          "1.0: backward discriminator pass 0 micro-batch 1",
                          "1.0: arm generator pass 0 micro-batch 1",
                          "1.0: backward generator pass 0 micro-batch 1",
                          "1.0: close leaf of generator pass 0 micro-batch 1",
                          "1.0: reduce generator", "1.0: await generator"));
}

TEST(Schedule, AwaitsEachNetworkAtItsNextUseWhereTheExchangeRunsAcrossPhases) {
  EXPECT_THAT(
      lines(JobSpec{}, {3, 4}, 0, Overlap::kAcross),
      ElementsAre(
          "0.0: await discriminator", "0.0: open leaf of discriminator pass 0 micro-batch 3",
          "0.0: forward discriminator pass 0 micro-batch 3",
          "0.0: backward discriminator pass 0 micro-batch 3", "0.0: await generator",
          "0.0: forward generator pass 1 micro-batch 3",
          "0.0: forward discriminator pass 1 micro-batch 3",
          "0.0: arm discriminator pass 1 micro-batch 3",
          "0.0: backward discriminator pass 1 micro-batch 3",
          "0.0: close leaf of discriminator pass 0 micro-batch 3", "0.0: reduce discriminator",
          "1.0: open leaf of generator pass 0 micro-batch 3",
          "1.0: forward generator pass 0 micro-batch 3", "1.0: await discriminator",
          "1.0: forward discriminator pass 0 micro-batch 3",
          "1.0: backward discriminator pass 0 micro-batch 3",
          "1.0: arm generator pass 0 micro-batch 3", "1.0: backward generator pass 0 micro-batch 3",
          "1.0: close leaf of generator pass 0 micro-batch 3", "1.0: reduce generator"));
}

TEST(Schedule, InstructionsCompareByAllTheirParts) {
  const Instruction one{.operation = Operation::kBackward, .microbatch = 1};
  Instruction other = one;
  EXPECT_EQ(one, other);
  other.pass = 1;
  EXPECT_FALSE(one == other);
}

}  // namespace
}  // namespace gangway::pipeline
