// SPDX-License-Identifier: MIT
// Augmented jobs: equal bits on any layout, the strength included.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/fidelity/training_run.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {
namespace {

std::vector<NamedJob> augmented_jobs(const std::filesystem::path& folder) {
  std::vector<NamedJob> jobs;
  const auto add = [&](const std::string& name, const std::function<void(JobSpec&)>& change) {
    jobs.push_back({.name = name, .job = adaptive_dcgan(folder), .steps = 4});
    change(jobs.back().job);
  };
  add("AdaptiveTwoSteps", [](JobSpec& job) { job.network("discriminator").steps = 2; });
  add("AdaptiveLazyR1ReusedFakesClipped", [](JobSpec& job) {
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
    job.training.reuse_fakes = true;
    job.model.activation = Activation::kSoftplus;
    job.network("discriminator").clip_norm = 0.5;
  });
  add("AdaptiveThreeChannels", [](JobSpec& job) {
    job.model.width = 8;
    job.model.channels = 3;
  });
  add("FixedRelativisticR1R2", [](JobSpec& job) {
    job.training.augment.strength = 0.7;
    job.training.loss = LossKind::kRelativistic;
    job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0};
    job.model.activation = Activation::kSoftplus;
  });
  add("DiffAugmentGradientPenalty", [](JobSpec& job) {
    job.training.augment = {.policy = AugmentPolicy::kDiffAugment};
    job.training.loss = LossKind::kWasserstein;
    job.training.penalty.gradient_penalty = 10.0;
  });
  return jobs;
}

class AugmentedTraining : public ::testing::Test {
 protected:
  AugmentedTraining() { write_tiny_images(images()); }
  [[nodiscard]] std::filesystem::path images() const { return scratch_.path() / "images"; }
  [[nodiscard]] std::filesystem::path next_folder() {
    return scratch_.path() / ("run" + std::to_string(runs_++));
  }
  Outcome run(const JobSpec& job, int workers, std::int64_t steps) {
    return train({.job = job, .workers = workers, .end = steps}, next_folder());
  }
  static double value_in(const Outcome& outcome, const std::string& end) {
    for (const auto& [name, tensor] : tensors_of(outcome.checkpoint)) {
      if (name.starts_with("discriminator/") && name.ends_with(end)) {
        return tensor.item<double>();
      }
    }
    ADD_FAILURE() << "no tensor " << end;
    return -1.0;
  }

 private:
  testing::ScratchFolder scratch_;
  int runs_ = 0;
};

TEST_F(AugmentedTraining, HasEqualBitsOnOneToThreeWorkersAndOnHostsOfTheirOwn) {
  for (const NamedJob& named : augmented_jobs(images())) {
    const Outcome& alone = trained_alone(named.job, named.steps);
    ASSERT_TRUE(is_finite(alone)) << named.name;
    for (const int workers : {2, 3}) {
      const Outcome shared = run(named.job, workers, named.steps);
      EXPECT_EQ(shared.digest, alone.digest) << named.name << " on " << workers;
      EXPECT_TRUE(same_losses(shared, alone)) << named.name << " on " << workers;
    }
    for (const Overlap overlap : {Overlap::kNone, Overlap::kWithin, Overlap::kAcross}) {
      JobSpec job = named.job;
      job.layout.overlap = overlap;
      const Outcome shared =
          train({.job = job, .workers = 3, .end = named.steps, .hosts = {0, 1, 1}}, next_folder());
      EXPECT_EQ(shared.digest, alone.digest) << named.name;
    }
  }
}

TEST_F(AugmentedTraining, ResumesWithTheStrengthThatItHad) {
  const JobSpec job = adaptive_dcgan(images());
  const Outcome one_go = run(job, 1, 6);
  const Outcome half = run(job, 3, 3);
  const Outcome rest = train(
      {.job = job, .workers = 2, .begin = 3, .end = 6, .resume = half.checkpoint}, next_folder());
  EXPECT_EQ(rest.digest, one_go.digest);
  EXPECT_GT(value_in(one_go, "augment.strength"), value_in(half, "augment.strength"));
}

TEST_F(AugmentedTraining, StrengthMovesByTheImagesOfEachUpdate) {
  JobSpec job = adaptive_dcgan(images());
  job.network("discriminator").steps = 2;
  const Outcome outcome = run(job, 2, 2);  // four updates of 16 images, each by 0.08
  EXPECT_NEAR(value_in(outcome, "augment.strength"), 0.32, 1e-5);
  const double signs = value_in(outcome, "augment.signs");
  EXPECT_GE(signs, -1.0 - 1e-5);
  EXPECT_LE(signs, 1.0 + 1e-5);
}

/// Lazy regularisation updates the discriminator too, and sees no real picture for it.
TEST_F(AugmentedTraining, ALazyUpdateLeavesTheStrengthAsItIs) {
  JobSpec job = adaptive_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  job.model.activation = Activation::kSoftplus;
  EXPECT_NEAR(value_in(run(job, 2, 3), "augment.strength"), 0.24, 1e-5);
}

TEST_F(AugmentedTraining, WithStrengthZeroTrainsAsAJobThatDoesNotAugment) {
  JobSpec job = adaptive_dcgan(images());
  job.training.augment.target = 2.0;  // whatever real pictures look like: p stays
  const Outcome adaptive = run(job, 2, 3);
  EXPECT_EQ(value_in(adaptive, "augment.strength"), 0.0);
  job.training.augment = {};
  const Outcome plain = run(job, 2, 3);
  EXPECT_TRUE(same_losses(adaptive, plain));
  const auto ours = tensors_of(adaptive.checkpoint);
  for (const auto& [name, tensor] : tensors_of(plain.checkpoint)) {
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_TRUE(at::equal(ours.at(name), tensor)) << name;
  }
}

TEST_F(AugmentedTraining, AStrengthOnItsWayIsThatOfTheStep) {
  JobSpec job = adaptive_dcgan(images());
  job.training.augment.strength = 0.0;
  const std::string none = run(job, 1, 1).digest;
  const double images_per_step = static_cast<double>(job.images_per_step());
  job.training.augment.schedule = {
      .decay = DecayKind::kLinear, .end_kimg = 2.0 * images_per_step / 1000.0, .final_value = 0.8};
  const std::string risen = run(job, 1, 1).digest;
  EXPECT_NE(risen, none);
  EXPECT_EQ(run(job, 3, 1).digest, risen);  // on any layout
  job.training.augment.schedule = {};
  job.training.augment.strength = 0.4;  // half its way, at the end of the first step
  EXPECT_EQ(run(job, 1, 1).digest, risen);
}

TEST_F(AugmentedTraining, BelongsToTheJob) {
  JobSpec job = adaptive_dcgan(images());
  job.training.augment.strength = 0.5;
  const std::string half = run(job, 1, 2).digest;
  job.training.augment.strength = 0.6;
  EXPECT_NE(run(job, 1, 2).digest, half);
}

}  // namespace
}  // namespace gangway::fidelity
