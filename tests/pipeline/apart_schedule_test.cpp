// SPDX-License-Identifier: MIT
// Schedules of workers that hold different networks: exact lists of a small job, and what must hold
// for all of them together.
#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/recipes/adversarial.hpp"
#include "pipeline/microbatches_with_reals.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/pipeline/side_by_side.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

/// Generator and discriminator of `job` on the workers given.
Layout groups_of(JobSpec job, int workers, const std::vector<int>& generator,
                 const std::vector<int>& discriminator, Overlap overlap = Overlap::kNone) {
  job.layout.overlap = overlap;
  job.placement("generator").workers = generator;
  job.placement("discriminator").workers = discriminator;
  return resolve_layout(job, workers);
}

JobSpec job_with(int microbatches) {
  JobSpec job;
  job.training.microbatches = microbatches;
  return job;
}

std::vector<std::string> lines(const std::vector<Instruction>& schedule) {
  std::vector<std::string> text;
  for (const Instruction& one : schedule) {
    text.push_back(std::to_string(one.phase) + ": " + describe(one, kNetworkNames) +
                   (one.is_ahead ? ", ahead" : ""));
  }
  return text;
}

TEST(ApartSchedule, OfTheGeneratorsWorkerGoesAheadOfItsLeaves) {
  const JobSpec job = job_with(2);
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const PassShares shares(phases, groups_of(job, 2, {0}, {1}), 0);
  EXPECT_THAT(lines(step_schedule(shares, 0)),
              ElementsAre("0: forward generator pass 1 micro-batch 0, ahead",
                          "0: send rank 2 pass 1 micro-batch 0, ahead",
                          "0: forward generator pass 1 micro-batch 1, ahead",
                          "0: send rank 2 pass 1 micro-batch 1, ahead",
                          "1: forward generator pass 0 micro-batch 0, ahead",
                          "1: send rank 2 pass 0 micro-batch 0, ahead",
                          "1: forward generator pass 0 micro-batch 1, ahead",
                          "1: send rank 2 pass 0 micro-batch 1, ahead",
                          "1: open leaf of generator pass 0 micro-batch 0",
                          "1: receive gradient rank 2 pass 0 micro-batch 0",
                          "1: backward generator pass 0 micro-batch 0",
                          "1: close leaf of generator pass 0 micro-batch 0",
                          "1: open leaf of generator pass 0 micro-batch 1",
                          "1: receive gradient rank 2 pass 0 micro-batch 1",
                          "1: backward generator pass 0 micro-batch 1",
                          "1: close leaf of generator pass 0 micro-batch 1", "1: reduce generator",
                          "1: await generator"));
}

TEST(ApartSchedule, OfTheDiscriminatorsWorkerDoesMeanwhileWhatItCan) {
  const JobSpec job = job_with(2);
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const PassShares shares(phases, groups_of(job, 2, {0}, {1}), 1);
  EXPECT_THAT(
      lines(step_schedule(shares, 0)),
      ElementsAre(
          "0: forward discriminator pass 0 micro-batch 0, ahead",
          "0: forward discriminator pass 0 micro-batch 1, ahead",
          "0: open leaf of discriminator pass 0 micro-batch 0",
          "0: backward discriminator pass 0 micro-batch 0",
          "0: receive rank 1 pass 1 micro-batch 0", "0: forward discriminator pass 1 micro-batch 0",
          "0: backward discriminator pass 1 micro-batch 0",
          "0: close leaf of discriminator pass 0 micro-batch 0",
          "0: open leaf of discriminator pass 0 micro-batch 1",
          "0: backward discriminator pass 0 micro-batch 1",
          "0: receive rank 1 pass 1 micro-batch 1", "0: forward discriminator pass 1 micro-batch 1",
          "0: backward discriminator pass 1 micro-batch 1",
          "0: close leaf of discriminator pass 0 micro-batch 1", "0: reduce discriminator",
          "0: await discriminator", "1: receive rank 1 pass 0 micro-batch 0",
          "1: forward discriminator pass 0 micro-batch 0",
          "1: backward discriminator pass 0 micro-batch 0",
          "1: send gradient rank 1 pass 0 micro-batch 0", "1: receive rank 1 pass 0 micro-batch 1",
          "1: forward discriminator pass 0 micro-batch 1",
          "1: backward discriminator pass 0 micro-batch 1",
          "1: send gradient rank 1 pass 0 micro-batch 1"));
}

TEST(ApartSchedule, ServesTheFirstMicrobatchOfEachReceiverFirst) {
  const JobSpec job = job_with(4);
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const PassShares shares(phases, groups_of(job, 3, {0}, {1, 2}, Overlap::kAcross), 0);
  std::vector<int> sent;
  for (const Instruction& one : step_schedule(shares, 0)) {
    if (one.operation == Operation::kSend && one.phase == 0) {
      sent.push_back(one.microbatch);
    }
  }
  EXPECT_THAT(sent, ElementsAre(0, 2, 1, 3));
}

TEST(ApartSchedule, OfAllTogetherIsThatOfOneStage) {
  JobSpec job = job_with(4);
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 1};
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const PassShares shares(phases, groups_of(job, 2, {}, {}), 1);
  EXPECT_FALSE(shares.are_apart());
}

struct Division {
  int workers;
  std::vector<int> generator;
  std::vector<int> discriminator;
};

TEST(ApartSchedule, NobodyWaitsForEverAndAllThatIsSentIsReceived) {
  std::vector<JobSpec> jobs(4, job_with(6));
  jobs[1].training.loss = LossKind::kRelativistic;
  jobs[2].training.loss = LossKind::kWasserstein;
  jobs[2].training.penalty = {.gradient_penalty = 10.0};
  jobs[2].network("discriminator").steps = 3;
  jobs[3].training.penalty = {.r1_gamma = 1.0, .r1_interval = 2};
  const std::vector<Division> layouts = {{2, {0}, {1}},       {2, {1}, {0}},
                                         {4, {0}, {1, 2, 3}}, {4, {0, 1, 2}, {3}},
                                         {3, {}, {1}},        {4, {0, 1}, {1, 2, 3}}};
  for (const JobSpec& job : jobs) {
    const std::vector<Phase> phases = gan::adversarial_phases(job);
    for (const Division& layout : layouts) {
      for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
        std::vector<std::vector<Instruction>> lists;
        for (int worker = 0; worker < layout.workers; ++worker) {
          const PassShares shares(
              phases,
              groups_of(job, layout.workers, layout.generator, layout.discriminator, overlap),
              worker);
          lists.push_back(step_schedule(shares, 0));
        }
        EXPECT_TRUE(come_to_an_end(lists));
      }
    }
  }
}

TEST(ApartSchedule, EveryApplicationHappensOnceSomewhere) {
  const JobSpec job = job_with(6);
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  std::map<std::tuple<Operation, int, int, int, int>, int> alone;
  std::map<std::tuple<Operation, int, int, int, int>, int> apart;
  const auto count = [](auto& counts, const std::vector<Instruction>& list) {
    for (const Instruction& one : list) {
      if (one.peer < 0 && one.microbatch >= 0) {
        ++counts[{one.operation, one.phase, one.pass, one.microbatch, one.node}];
      }
    }
  };
  count(alone, one_stage_schedule(phases, {0, 6}, 0, Overlap::kNone));
  for (int worker = 0; worker < 4; ++worker) {
    const PassShares shares(phases, groups_of(job, 4, {0}, {1, 2, 3}), worker);
    count(apart, step_schedule(shares, 0));
  }
  EXPECT_EQ(apart, alone);
}

TEST(MicrobatchesWithReals, AreThoseOfWhoeverLooksAtThem) {
  const JobSpec job = job_with(4);
  const std::vector<Phase> phases = gan::adversarial_phases(job);
  const auto seen_by = [&](int worker) {
    const PassShares shares(phases, groups_of(job, 3, {0}, {1, 2}), worker);
    return microbatches_with_reals(shares, step_schedule(shares, 0));
  };
  EXPECT_THAT(seen_by(0), ElementsAre());
  EXPECT_THAT(seen_by(2), ElementsAre(2, 3));
}

}  // namespace
}  // namespace gangway::pipeline
