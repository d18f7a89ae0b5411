// SPDX-License-Identifier: MIT
// The contract for cut networks: the layout decides only the speed.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "job/layout/stage_cuts.hpp"
#include "job/models/recipes.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/named_rows.hpp"

namespace gangway::fidelity {
namespace {

constexpr std::array kOrders = {StageOrder::kFill, StageOrder::kZeroBubble,
                                StageOrder::kOneForwardOneBackward, StageOrder::kByPhase};

class Stages : public BesideOneWorker {
 protected:
  using BesideOneWorker::expect_equal_bits;
  void expect_equal_bits(const JobSpec& job, std::int64_t steps, int workers, int stages) {
    BesideOneWorker::expect_equal_bits(
        job, steps, workers, [stages](JobSpec& divided) { divided.layout.stages = stages; });
  }
};

TEST_F(Stages, TwoOfPoints) { expect_equal_bits(small_mlp(), 3, 2, 2); }

TEST_F(Stages, TwoOfImages) { expect_equal_bits(small_dcgan(images()), 2, 2, 2); }

TEST_F(Stages, Three) { expect_equal_bits(small_dcgan(images()), 2, 3, 3); }

TEST_F(Stages, FourOfEightMicrobatchesInEachOrderAndPlacementAndTwoCopies) {
  JobSpec job = small_mlp();
  job.training.microbatches = 8;
  for (std::size_t i = 0; i < 2 * kOrders.size(); ++i) {
    job.layout.schedule = kOrders[i / 2];
    job.layout.placement = i % 2 == 0 ? StagePlacement::kLoop : StagePlacement::kV;
    for (const std::size_t copies : testing::turns(i / 2 + i, 2)) {
      expect_equal_bits(job, 3, copies == 0 ? 4 : 8, 4);
    }
  }
}

TEST_F(Stages, WhateverIsInFlight) {
  JobSpec job = small_dcgan(images());
  job.training.microbatches = 6;
  job.training.penalty = {.r1_gamma = 1.0};
  for (const int in_flight : {1, 2, 3}) {
    job.layout.in_flight = in_flight;
    job.layout.overlap = in_flight == 2 ? Overlap::kNone : Overlap::kAcross;
    const int stages = in_flight == 3 ? 3 : 2;
    expect_equal_bits(job, 2, in_flight == 2 ? 2 : 2 * stages, stages);
  }
}

TEST_F(Stages, WithAnAugmentationThatAdapts) {
  JobSpec job = adaptive_dcgan(images());
  expect_equal_bits(job, 3, 2, 2);
  job.network("discriminator").clip_norm = 0.05;
  job.layout.placement = StagePlacement::kV;
  expect_equal_bits(job, 3, 6, 3);
}

TEST_F(Stages, WithAnAugmentationThatAdaptsClippedAndTwoCopiesOfEach) {
  JobSpec job = adaptive_dcgan(images());
  job.network("discriminator").clip_norm = 0.05;
  job.network("discriminator").steps = 2;
  job.training.reuse_fakes = true;
  expect_equal_bits(job, 3, 4, 2);
}

TEST_F(Stages, WithABoundOnNorms) {
  JobSpec job = small_dcgan(images());
  job.training.divergence.gradient_norm = 1e6;
  expect_equal_bits(job, 2, 4, 2);
}

TEST_F(Stages, ClippedInAllOverlapsAndInThree) {
  JobSpec job = small_dcgan(images());
  for (NetworkSpec& network : job.networks) {
    network.clip_norm = 0.01;
  }
  for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
    job.layout.overlap = overlap;
    expect_equal_bits(job, 2, 3, 3);
  }
}

TEST_F(Stages, SkipTheSameUpdates) {
  JobSpec job = small_dcgan(images());
  job.network("generator").optimizer.lr = 1e30;  // its next output is NaN
  for (NetworkSpec& network : job.networks) {
    network.clip_norm = 1.0;
  }
  const Outcome& alone = trained_alone(job, 3);
  ASSERT_FALSE(is_finite(alone)) << "its losses";
  job.layout.stages = 2;
  for (const int workers : {2, 4}) {
    const Outcome staged = train({.job = job, .workers = workers, .end = 3}, next_folder());
    EXPECT_EQ(staged.digest, alone.digest) << workers << " workers";
  }
}

TEST_F(Stages, OfOneNetworkWhileTheOtherIsWholeOnAllWorkers) {
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    for (const std::size_t whole : testing::turns(i, 2)) {
      JobSpec job = small_dcgan(images());
      job.placement(whole == 0 ? "generator" : "discriminator").cuts = std::vector<int>{};
      job.layout.schedule = kOrders[i];
      expect_equal_bits(job, 2, 2, 2);
    }
  }
}

TEST_F(Stages, BehindTheBlockThatPutsTheLabelBesideTheNoise) {
  JobSpec job = small_dcgan(images());
  job.model.classes = 10;
  job.placement("generator").cuts = {1};
  expect_equal_bits(job, 2, 2, 2);
  expect_equal_bits(job, 2, 4, 2);
}

TEST_F(Stages, OfOneNetworkThatAPassGoesThroughTwice) {
  JobSpec job = small_job_of(*recipe_named("vae-gan"), family_named("dcgan"), images());
  job.training.batch = 16;
  job.training.microbatches = 8;
  for (NetworkPlacement& network : job.layout.networks) {
    network.cuts = std::vector<int>{};
  }
  job.placement("generator").cuts = {1};
  for (const StageOrder order : {StageOrder::kZeroBubble, StageOrder::kByPhase}) {
    job.layout.schedule = order;
    expect_equal_bits(job, 2, 4, 2);
  }
}

TEST_F(Stages, WithTwoCopiesOfEach) { expect_equal_bits(small_dcgan(images()), 2, 4, 2); }

class EveryJobStaged : public Stages, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryJobStaged, HasOneWorkersBits) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.training.translation.pool = 0;
  if (job.scales_losses()) {
    GTEST_SKIP() << "one loss scale of all networks";
  }
  job.layout.stages = 2;
  const auto chunks = chunks_of(job, job.layout);
  if (std::ranges::all_of(chunks, [](const auto& one) { return one.size() == 1; })) {
    GTEST_SKIP() << "nothing of it may be cut";
  }
  // Any 36 jobs have each order with each placement and each overlap, on one copy or two.
  for (const std::size_t turn : testing::turns(GetParam(), 36)) {
    const int workers = turn / 2 % 2 == 0 ? 2 : 4;
    job.layout.overlap = static_cast<Overlap>((turn / 4 + turn / 12) % 3);
    job.layout.schedule = kOrders[turn % 3];
    job.layout.placement = turn % 2 == 0 ? StagePlacement::kLoop : StagePlacement::kV;
    const std::vector<int> hosts(static_cast<std::size_t>(workers == 4 ? workers : 0), 0);
    expect_equal_bits(Stretch{.job = job, .workers = workers, .end = named.steps, .hosts = hosts});
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobStaged, every_small_job(), name_of_job);

TEST_F(Stages, ResumingOnAnyOtherLayoutEqualsOneGo) {
  JobSpec job = small_dcgan(images());
  const Outcome& one_go = trained_alone(job, 3);
  job.layout.stages = 2;
  const Outcome first = run(job, 4, 1);
  job.layout.stages = 1;
  job.placement("generator").workers = {1};
  job.placement("discriminator").workers = {0};
  const Outcome second = resumed(job, 2, 1, 2, first);
  job.layout.stages = 3;
  job.layout.placement = StagePlacement::kV;
  job.layout.schedule = StageOrder::kOneForwardOneBackward;
  job.placement("generator").workers.clear();
  job.placement("discriminator").workers.clear();
  EXPECT_EQ(resumed(job, 3, 2, 3, second).digest, one_go.digest);
}

}  // namespace
}  // namespace gangway::fidelity
