// SPDX-License-Identifier: MIT
// The contract: the job decides the numbers, the layout decides only the speed.
#include <random>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {
namespace {

class Layout : public ::testing::Test {
 protected:
  Layout() { write_tiny_images(images()); }

  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  /// Steps [0, steps) of `job` on `workers`, in a folder of its own that is removed with the test.
  Outcome run(const JobSpec& job, int workers, std::int64_t steps,
              comm::LoopbackHub::Injector disturbance = nullptr) {
    return train(
        {.job = job, .workers = workers, .end = steps, .disturbance = std::move(disturbance)},
        next_folder());
  }
  std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  /// Trains on one worker, then on each of `others`, and expects equal state and losses.
  void expect_equal_bits(const JobSpec& job, std::int64_t steps, const std::vector<int>& others) {
    const Outcome& alone = trained_alone(job, steps);
    ASSERT_TRUE(is_finite(alone));
    for (const int workers : others) {
      const Outcome shared = run(job, workers, steps);
      EXPECT_EQ(shared.digest, alone.digest) << workers << " workers";
      EXPECT_TRUE(same_losses(shared, alone)) << workers << " workers";
      std::filesystem::remove_all(shared.checkpoint);
    }
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

class EveryJob : public Layout, public ::testing::WithParamInterface<std::size_t> {};

/// Names without a folder: parameters are made before any folder exists.
const std::vector<NamedJob>& named_jobs() {
  static const std::vector<NamedJob> jobs = job_breadth("");
  return jobs;
}

TEST_P(EveryJob, HasEqualBitsOnSeveralWorkers) {
  const NamedJob named = job_breadth(images())[GetParam()];
  expect_equal_bits(named.job, named.steps, {GetParam() % 2 == 0 ? 2 : 3});
}

/// Who shares memory: nobody, all, pairs, one beside three.
const std::vector<std::vector<int>> kHosts = {
    {0, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 1, 1}};

TEST_P(EveryJob, HasEqualBitsWhoeverSharesMemoryAndWhateverTheExchangeRunsBeside) {
  NamedJob named = job_breadth(images())[GetParam()];
  const Outcome& alone = trained_alone(named.job, named.steps);
  // Every overlap with every kind of host over any twelve jobs; each job with two overlaps.
  for (std::size_t turn = 0; turn < (named.is_large ? 1 : 2); ++turn) {
    const std::size_t i = (GetParam() + turn) % 3;
    const auto overlap = static_cast<Overlap>(i);
    const std::vector<int>& hosts = kHosts[(GetParam() + i) % kHosts.size()];
    named.job.layout.overlap = overlap;
    named.job.layout.buckets = static_cast<int>(13 * i);
    const Outcome shared =
        train({.job = named.job, .workers = 4, .end = named.steps, .hosts = hosts}, next_folder());
    EXPECT_EQ(shared.digest, alone.digest)
        << "overlap " << i << ", hosts " << ::testing::PrintToString(hosts);
    EXPECT_TRUE(same_losses(shared, alone));
    std::filesystem::remove_all(shared.checkpoint);
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryJob, ::testing::Range(std::size_t{0}, named_jobs().size()),
                         [](const auto& instance) { return named_jobs()[instance.param].name; });

TEST_F(Layout, HasEqualBitsWhereRangesAreNoWholeSubtrees) {
  for (const int microbatches : {6, 8}) {
    JobSpec job = small_dcgan(images());
    job.training.microbatches = microbatches;
    job.training.batch = 2 * microbatches;
    expect_equal_bits(job, 2, {3});
  }
}

TEST_F(Layout, HasEqualBitsWhateverTheShares) {
  for (const std::vector<int>& shares : {std::vector{5, 2, 1}, {1, 1, 6}, {1, 7}}) {
    JobSpec job = small_dcgan(images());
    job.training.microbatches = 8;
    job.training.batch = 16;
    const Outcome& alone = trained_alone(job, 2);
    job.layout.shares = shares;
    const Outcome shared = run(job, static_cast<int>(shares.size()), 2);
    EXPECT_EQ(shared.digest, alone.digest) << ::testing::PrintToString(shares);
    EXPECT_TRUE(same_losses(shared, alone));
  }
}

TEST_F(Layout, TrainsASingleMicrobatch) {
  JobSpec job = small_dcgan(images());
  job.training.microbatches = 1;
  job.training.batch = 4;
  expect_equal_bits(job, 2, {1});
}

TEST_F(Layout, NumberOfMicrobatchesBelongsToTheJob) {
  JobSpec job = small_dcgan(images());
  const Outcome four = run(job, 1, 2);
  job.training.microbatches = 2;
  EXPECT_NE(run(job, 1, 2).digest, four.digest);  // so the digest can tell runs apart
}

TEST_F(Layout, DelaysOnTheWiresChangeNothing) {
  const JobSpec job = small_dcgan(images());
  const Outcome& undisturbed = trained_alone(job, 2);
  for (unsigned pattern = 0; pattern < 100; ++pattern) {
    std::mt19937 random(pattern);
    const auto delay = [random](int, int, comm::MessageTag) mutable {
      // Most messages pass, some overtake others by far: arrival orders differ from pattern to
      // pattern.
      const bool held_up = random() % 4 == 0;
      return comm::LoopbackHub::Fate{.delay =
                                         std::chrono::microseconds(held_up ? random() % 2000 : 0)};
    };
    std::vector<int> hosts = {0, 1, 2, 3};
    if (pattern % 4 >= 2) {
      hosts = {0, 1, 1, 1};
    }
    hosts.resize(pattern % 2 == 0 ? 3 : 4);
    const Outcome disturbed = train({.job = job,
                                     .workers = static_cast<int>(hosts.size()),
                                     .end = 2,
                                     .disturbance = delay,
                                     .hosts = hosts},
                                    next_folder());
    EXPECT_EQ(disturbed.digest, undisturbed.digest) << "pattern " << pattern;
    EXPECT_TRUE(same_losses(disturbed, undisturbed)) << "pattern " << pattern;
    std::filesystem::remove_all(disturbed.checkpoint);
  }
}

TEST_F(Layout, ResumingOnFewerWorkersEqualsOneGo) {
  for (const bool clips : {false, true}) {
    JobSpec job = small_dcgan(images());
    job.training.penalty = {.r1_gamma = 2.0,
                            .r1_interval = 4};  // the lazy phase runs in steps 0 and 4
    job.model.activation = Activation::kSoftplus;
    job.network("generator").clip_norm = clips ? 0.05 : 0.0;
    job.network("generator").schedule = {.warmup_kimg = 0.08, .decay = DecayKind::kCosine};
    const Outcome& one_go = trained_alone(job, 6);
    const Outcome half = run(job, 3, 3);
    const Outcome rest = train(
        {.job = job, .workers = 2, .begin = 3, .end = 6, .resume = half.checkpoint}, next_folder());
    EXPECT_EQ(rest.digest, one_go.digest);
  }
}

/// Networks, exchanges and memory of a layout are destroyed in the process, those of another take
/// their place, and begin with the snapshot that lies in memory: no checkpoint is read.
TEST_F(Layout, GenerationsOfFewerAndFewerWorkersInOneProcessEqualOneGo) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 4};
  for (const bool share_memory : {false, true}) {
    const auto hosts = [&](std::size_t workers) {
      return share_memory ? std::vector<int>(workers) : std::vector<int>();
    };
    const Outcome generations =
        train_generations(job,
                          {{.job = job, .workers = 3, .begin = 0, .end = 2, .hosts = hosts(3)},
                           {.job = job, .workers = 2, .begin = 2, .end = 5, .hosts = hosts(2)},
                           {.job = job, .workers = 1, .begin = 5, .end = 6, .hosts = hosts(1)}},
                          next_folder());
    EXPECT_EQ(generations.digest, trained_alone(job, 6).digest);
  }
}

/// Counts of updates, new examples for the generator's phase, labels of the data, averages that
/// rise: all follow from the step, or are in the checkpoint.
TEST_F(Layout, JobsAsPublishedGoOnOnAnyNumberOfWorkers) {
  int found = 0;
  for (const NamedJob& named : job_breadth(images())) {
    if (named.name.find("AsPublished") == std::string::npos) {
      continue;
    }
    ++found;
    const Outcome first = run(named.job, 3, 1);
    const Outcome rest =
        train({.job = named.job, .workers = 2, .begin = 1, .end = 5, .resume = first.checkpoint},
              next_folder());
    EXPECT_EQ(rest.digest, trained_alone(named.job, 5).digest) << named.name;
  }
  EXPECT_EQ(found, 3);
}

TEST_F(Layout, ImagePoolsGoWithTheirMicrobatchToWhoeverHasIt) {
  const JobSpec job =
      small_translation(*recipe_named("cyclegan"), family_named("cyclegan"), images());
  const Outcome one_go = run(job, 4, 4);
  for (const auto& [before, after] : {std::pair(3, 2), std::pair(1, 4), std::pair(4, 3)}) {
    const Outcome half = run(job, before, 2);
    const Outcome rest =
        train({.job = job, .workers = after, .begin = 2, .end = 4, .resume = half.checkpoint},
              next_folder());
    EXPECT_EQ(rest.digest, one_go.digest) << before << ", then " << after;
  }
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
  const Outcome& one_go = trained_alone(job, 6);
  const Outcome half = run(job, 3, 3);
  const auto tensors = tensors_of(half.checkpoint);
  EXPECT_TRUE(tensors.contains("discriminator_optimizer/momentum/0/weight"));
  EXPECT_FALSE(tensors.contains("discriminator_optimizer/second_moment/0/weight"));
  const Outcome rest = train(
      {.job = job, .workers = 2, .begin = 3, .end = 6, .resume = half.checkpoint}, next_folder());
  EXPECT_EQ(rest.digest, one_go.digest);
}

TEST_F(Layout, ASingleWorkerKeepsNoBitsOutsideItsCheckpoint) {
  JobSpec job = small_dcgan(images());
  job.model.dropout = 0.3;
  job.network("discriminator").steps = 2;
  const Outcome one_go = run(job, 4, 6);
  const Outcome half = run(job, 1, 3);
  const Outcome rest = train(
      {.job = job, .workers = 4, .begin = 3, .end = 6, .resume = half.checkpoint}, next_folder());
  EXPECT_EQ(rest.digest, one_go.digest);
}

}  // namespace
}  // namespace gangway::fidelity
