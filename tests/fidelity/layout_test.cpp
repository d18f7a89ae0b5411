// SPDX-License-Identifier: MIT
// The contract: the job decides the numbers, the layout decides only the speed.
#include <random>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/named_rows.hpp"

namespace gangway::fidelity {
namespace {

class Layout : public BesideOneWorker {};

class EveryJob : public Layout, public ::testing::WithParamInterface<std::size_t> {};

/// Hosts by worker: no shared memory, all workers, pairs, and one worker apart from three.
const std::vector<std::vector<int>> kHosts = {
    {0, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 1, 1}};

TEST_P(EveryJob, HasEqualBitsOnSeveralWorkersWhoeverSharesMemoryAndWhateverTheExchangeRunsBeside) {
  NamedJob named = job_breadth(images())[GetParam()];
  // Any 36 jobs have each number of workers with each overlap and each assignment to hosts.
  for (const std::size_t turn : testing::turns(GetParam(), 36)) {
    const std::size_t overlap = turn / 3 % 3;
    named.job.layout.overlap = static_cast<Overlap>(overlap);
    named.job.layout.buckets = static_cast<int>(13 * overlap);
    const std::size_t workers = 2 + turn % 3;
    std::vector<int> hosts = kHosts[turn % kHosts.size()];
    hosts.resize(workers);
    SCOPED_TRACE(::testing::PrintToString(hosts) + ", overlap " + std::to_string(overlap));
    expect_equal_bits({.job = named.job,
                       .workers = static_cast<int>(workers),
                       .end = named.steps,
                       .hosts = hosts});
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJob, every_job(), name_of_job);

TEST_F(Layout, HasEqualBitsWhereRangesAreNoWholeSubtrees) {
  for (const int microbatches : {6, 8}) {
    JobSpec job = small_dcgan(images());
    job.training.microbatches = microbatches;
    job.training.batch = 2 * microbatches;
    expect_equal_bits({.job = job, .workers = 3, .end = 2});
  }
}

TEST_F(Layout, HasEqualBitsWhateverTheShares) {
  for (const std::vector<int>& shares : {std::vector{5, 2, 1}, {1, 1, 6}, {1, 7}}) {
    JobSpec job = small_dcgan(images());
    job.training.microbatches = 8;
    job.training.batch = 16;
    job.layout.shares = shares;
    expect_equal_bits({.job = job, .workers = static_cast<int>(shares.size()), .end = 2});
  }
}

TEST_F(Layout, TrainsASingleMicrobatch) {
  JobSpec job = small_dcgan(images());
  job.training.microbatches = 1;
  job.training.batch = 4;
  expect_equal_bits({.job = job, .workers = 1, .end = 2});
}

TEST_F(Layout, NumberOfMicrobatchesBelongsToTheJob) {
  JobSpec job = small_dcgan(images());
  const std::string four = trained_alone(job, 2).digest;
  job.training.microbatches = 2;
  EXPECT_NE(trained_alone(job, 2).digest, four);  // the digest distinguishes runs
}

TEST_F(Layout, DelaysOnTheWiresChangeNothing) {
  const JobSpec job = small_dcgan(images());
  for (unsigned pattern = 0; pattern < (testing::is_campaign() ? 100 : 12); ++pattern) {
    SCOPED_TRACE(pattern);
    std::mt19937 random(pattern);
    const auto delay = [random](int, int, comm::MessageTag) mutable {
      // Most messages pass, some are overtaken by many: arrival orders differ from pattern to
      // pattern.
      const bool held_up = random() % 4 == 0;
      return comm::LoopbackHub::MessageFault{
          .delay = std::chrono::microseconds(held_up ? random() % 2000 : 0)};
    };
    std::vector<int> hosts = {0, 1, 2, 3};
    if (pattern % 4 >= 2) {
      hosts = {0, 1, 1, 1};
    }
    hosts.resize(pattern % 2 == 0 ? 3 : 4);
    expect_equal_bits({.job = job,
                       .workers = static_cast<int>(hosts.size()),
                       .end = 2,
                       .disturbance = delay,
                       .hosts = hosts});
  }
}

TEST_F(Layout, ResumingOnFewerWorkersEqualsOneGo) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};  // lazy in steps 0 and 2
  job.model.activation = Activation::kSoftplus;
  job.network("generator").clip_norm = 0.05;
  job.network("generator").schedule = {.warmup_kimg = 0.08, .decay = DecayKind::kCosine};
  const Outcome half = run(job, 3, 1);
  EXPECT_EQ(resumed(job, 2, 1, 3, half).digest, trained_alone(job, 3).digest);
}

/// Destroys a layout's networks, exchanges and memory in the process, and builds those of another
/// layout. They begin with the snapshot in memory, without a checkpoint.
TEST_F(Layout, GenerationsOfFewerAndFewerWorkersInOneProcessEqualOneGo) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  for (const bool share_memory : {false, true}) {
    const auto hosts = [&](std::size_t workers) {
      return share_memory ? std::vector<int>(workers) : std::vector<int>();
    };
    const Outcome generations =
        train_generations(job,
                          {{.job = job, .workers = 3, .begin = 0, .end = 1, .hosts = hosts(3)},
                           {.job = job, .workers = 2, .begin = 1, .end = 3, .hosts = hosts(2)},
                           {.job = job, .workers = 1, .begin = 3, .end = 4, .hosts = hosts(1)}},
                          next_folder());
    EXPECT_EQ(generations.digest, trained_alone(job, 4).digest);
  }
}

/// Counts of updates, new examples for the generator's phase, the data's labels, and rising
/// averages: each follows from the step, or is in the checkpoint.
TEST_F(Layout, JobsAsPublishedGoOnOnAnyNumberOfWorkers) {
  int found = 0;
  for (const NamedJob& named : job_breadth(images())) {
    if (named.name.find("AsPublished") == std::string::npos) {
      continue;
    }
    ++found;
    const Outcome first = run(named.job, 3, 1);
    EXPECT_EQ(resumed(named.job, 2, 1, named.steps, first).digest,
              trained_alone(named.job, named.steps).digest)
        << named.name;
  }
  EXPECT_EQ(found, 3);
}

TEST_F(Layout, ImagePoolsGoWithTheirMicrobatchToWhoeverHasIt) {
  const JobSpec job =
      small_translation(*recipe_named("cyclegan"), family_named("cyclegan"), images());
  const Outcome& one_go = trained_alone(job, 4);
  const Outcome half = run(job, 3, 2);
  const Outcome more = resumed(job, 1, 2, 3, half);
  EXPECT_EQ(resumed(job, 4, 3, 4, more).digest, one_go.digest);
  const auto tensors = tensors_of(one_go.checkpoint);
  for (int microbatch = 0; microbatch < job.training.microbatches; ++microbatch) {
    const at::Tensor& pool = tensors.at("image_pools/" + std::to_string(microbatch) + "/fake_b");
    EXPECT_EQ(pool.sizes().vec(), (std::vector<std::int64_t>{3, 1, 32, 32}));
    EXPECT_GT(pool.flatten(1).abs().amax(1).min().item<float>(), 0.0F);  // all are filled
  }
}

TEST_F(Layout, ResumesAnOptimiserOfOneMomentAndMovingMeans) {
  JobSpec job = small_mlp();
  for (NetworkSpec& network : job.networks) {
    network.optimizer = {.kind = OptimizerKind::kSgd, .lr = 1e-2, .momentum = 0.9};
  }
  job.training.lecam = {.weight = 0.3};
  job.training.labels = {.noise = 0.2};
  const Outcome half = run(job, 3, 2);
  const auto tensors = tensors_of(half.checkpoint);
  EXPECT_TRUE(tensors.contains("discriminator_optimizer/momentum/0/weight"));
  EXPECT_FALSE(tensors.contains("discriminator_optimizer/second_moment/0/weight"));
  EXPECT_EQ(resumed(job, 2, 2, 4, half).digest, trained_alone(job, 4).digest);
}

TEST_F(Layout, ASingleWorkerKeepsNoBitsOutsideItsCheckpoint) {
  JobSpec job = small_dcgan(images());
  job.model.dropout = 0.3;
  job.network("discriminator").steps = 2;
  const Outcome half = run(job, 1, 2);
  EXPECT_EQ(resumed(job, 4, 2, 4, half).digest, run(job, 4, 4).digest);
}

}  // namespace
}  // namespace gangway::fidelity
