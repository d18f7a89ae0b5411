// SPDX-License-Identifier: MIT
// The contract where networks are cut: the layout still decides only the speed.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "job/layout/stage_cuts.hpp"
#include "job/models/recipes.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/fidelity/small_jobs.hpp"

namespace gangway::fidelity {
namespace {

constexpr std::array kOrders = {StageOrder::kFill, StageOrder::kZeroBubble,
                                StageOrder::kOneForwardOneBackward, StageOrder::kByPhase};

class Stages : public BesideOneWorker {
 protected:
  void expect_equal_bits(const JobSpec& job, std::int64_t steps, int workers, int stages) {
    BesideOneWorker::expect_equal_bits(
        job, steps, workers, [stages](JobSpec& divided) { divided.layout.stages = stages; });
  }
};

TEST_F(Stages, TwoOfPoints) { expect_equal_bits(small_mlp(), 3, 2, 2); }

TEST_F(Stages, TwoOfImages) { expect_equal_bits(small_dcgan(images()), 3, 2, 2); }

TEST_F(Stages, Three) { expect_equal_bits(small_dcgan(images()), 3, 3, 3); }

TEST_F(Stages, FourOfEightMicrobatchesInEachOrderAndPlacementAndTwoCopies) {
  JobSpec job = small_mlp();
  job.training.microbatches = 8;
  for (const StageOrder order : kOrders) {
    for (const StagePlacement placement : {StagePlacement::kLoop, StagePlacement::kV}) {
      job.layout.schedule = order;
      job.layout.placement = placement;
      expect_equal_bits(job, 3, 4, 4);
      expect_equal_bits(job, 3, 8, 4);
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
    expect_equal_bits(job, 3, 2, 2);
    expect_equal_bits(job, 3, in_flight == 1 ? 4 : 6, in_flight == 1 ? 2 : 3);
  }
}

TEST_F(Stages, InAVClippedWithAnAugmentationThatAdapts) {
  JobSpec job = adaptive_dcgan(images());
  job.network("discriminator").clip_norm = 0.05;
  job.layout.placement = StagePlacement::kV;
  expect_equal_bits(job, 4, 2, 2);
  expect_equal_bits(job, 4, 6, 3);
}

TEST_F(Stages, WithAnAugmentationThatAdapts) {
  const JobSpec job = adaptive_dcgan(images());
  expect_equal_bits(job, 4, 2, 2);
  expect_equal_bits(job, 4, 3, 3);
}

TEST_F(Stages, WithAnAugmentationThatAdaptsClippedAndTwoCopiesOfEach) {
  JobSpec job = adaptive_dcgan(images());
  job.network("discriminator").clip_norm = 0.05;
  job.network("discriminator").steps = 2;
  job.training.reuse_fakes = true;
  expect_equal_bits(job, 4, 4, 2);
}

TEST_F(Stages, WithABoundOnNorms) {
  JobSpec job = small_dcgan(images());
  job.training.divergence.gradient_norm = 1e6;
  expect_equal_bits(job, 3, 4, 2);
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
  job.network("generator").optimizer.lr = 1e30;  // what it makes next is no number
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
  for (const std::string whole : {"generator", "discriminator"}) {
    JobSpec job = small_dcgan(images());
    job.training.microbatches = 4;
    job.placement(whole).cuts = std::vector<int>{};
    for (const StageOrder order : kOrders) {
      job.layout.schedule = order;
      expect_equal_bits(job, 3, 2, 2);
    }
  }
}

TEST_F(Stages, BehindTheBlockThatPutsTheLabelBesideTheNoise) {
  JobSpec job = small_dcgan(images());
  job.model.classes = 10;
  job.placement("generator").cuts = {1};
  expect_equal_bits(job, 3, 2, 2);
  expect_equal_bits(job, 3, 4, 2);
}

TEST_F(Stages, OfOneNetworkThatAPassGoesThroughTwice) {
  JobSpec job = small_job_of(*recipe_named("vae-gan"), family_named("dcgan"), images());
  job.training.batch = 16;
  job.training.microbatches = 8;
  for (NetworkPlacement& network : job.layout.networks) {
    network.cuts = std::vector<int>{};
  }
  job.placement("generator").cuts = {1};
  for (const StageOrder order : kOrders) {
    job.layout.schedule = order;
    expect_equal_bits(job, 2, 4, 2);
  }
}

TEST_F(Stages, WithTwoCopiesOfEach) { expect_equal_bits(small_dcgan(images()), 3, 4, 2); }

class EveryJobStaged : public Stages, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryJobStaged, HasOneWorkersBits) {
  NamedJob named = job_breadth(images())[GetParam()];
  JobSpec& job = named.job;
  job.training.translation.pool = 0;
  if (job.scales_losses()) {
    GTEST_SKIP() << "one loss scale of all networks";
  }
  const Outcome& alone = trained_alone(job, named.steps);
  job.layout.stages = 2;
  const auto chunks = chunks_of(job, job.layout);
  if (std::ranges::all_of(chunks, [](const auto& one) { return one.size() == 1; })) {
    GTEST_SKIP() << "nothing of it may be cut";
  }
  for (const int workers : {2, 4}) {
    if (workers == 2 && named.is_large) {
      continue;
    }
    job.layout.overlap = workers == 2 ? Overlap::kAcross : Overlap::kWithin;
    job.layout.schedule = kOrders[(GetParam() + static_cast<std::size_t>(workers / 4)) % 3];
    job.layout.placement = GetParam() % 4 < 2 ? StagePlacement::kLoop : StagePlacement::kV;
    const std::vector<int> hosts(static_cast<std::size_t>(workers == 4 ? workers : 0), 0);
    const Outcome staged =
        train({.job = job, .workers = workers, .end = named.steps, .hosts = hosts}, next_folder());
    EXPECT_EQ(staged.digest, alone.digest) << workers << " workers";
    EXPECT_TRUE(same_losses(staged, alone)) << workers << " workers";
    std::filesystem::remove_all(staged.checkpoint);
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJobStaged,
                         ::testing::Range(std::size_t{0}, named_jobs().size()),
                         [](const auto& instance) { return named_jobs()[instance.param].name; });

TEST_F(Stages, ResumingOnAnyOtherLayoutEqualsOneGo) {
  JobSpec job = small_dcgan(images());
  const Outcome& one_go = trained_alone(job, 6);
  job.layout.stages = 2;
  const Outcome first = train({.job = job, .workers = 4, .end = 2}, next_folder());
  job.layout.stages = 1;
  job.placement("generator").workers = {1};
  job.placement("discriminator").workers = {0};
  const Outcome second = train(
      {.job = job, .workers = 2, .begin = 2, .end = 4, .resume = first.checkpoint}, next_folder());
  job.layout.stages = 3;
  job.layout.placement = StagePlacement::kV;
  job.layout.schedule = StageOrder::kOneForwardOneBackward;
  job.placement("generator").workers.clear();
  job.placement("discriminator").workers.clear();
  const Outcome third = train(
      {.job = job, .workers = 3, .begin = 4, .end = 6, .resume = second.checkpoint}, next_folder());
  EXPECT_EQ(third.digest, one_go.digest);
}

}  // namespace
}  // namespace gangway::fidelity
