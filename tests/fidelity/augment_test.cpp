// SPDX-License-Identifier: MIT
// Augmented jobs: equal bits on any layout, including the strength.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

std::vector<NamedJob> augmented_jobs(const std::filesystem::path& folder) {
  std::vector<NamedJob> jobs;
  const auto add = [&](const std::string& name, const std::function<void(JobSpec&)>& change) {
    jobs.push_back({.name = name, .job = adaptive_dcgan(folder), .steps = 3});
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

class AugmentedTraining : public BesideOneWorker {
 protected:
  static double value_in(const Outcome& outcome, const std::string& end) {
    for (const auto& [name, tensor] : tensors_of(outcome.checkpoint)) {
      if (name.starts_with("discriminator/") && name.ends_with(end)) {
        return tensor.item<double>();
      }
    }
    ADD_FAILURE() << "no tensor " << end;
    return -1.0;
  }
};

TEST_F(AugmentedTraining, HasEqualBitsOnOneToThreeWorkersAndOnHostsOfTheirOwn) {
  std::size_t number = 0;
  for (const NamedJob& named : augmented_jobs(images())) {
    SCOPED_TRACE(named.name);
    for (const std::size_t turn : testing::turns(number++, 6)) {
      JobSpec job = named.job;
      job.layout.overlap = static_cast<Overlap>(turn % 3);
      const int workers = turn % 2 == 0 ? 3 : 2;
      const std::vector<int> hosts = workers == 3 ? std::vector<int>{0, 1, 1} : std::vector<int>{};
      expect_equal_bits({.job = job, .workers = workers, .end = named.steps, .hosts = hosts});
    }
  }
}

TEST_F(AugmentedTraining, ResumesWithTheStrengthThatItHad) {
  const JobSpec job = adaptive_dcgan(images());
  const Outcome& one_go = trained_alone(job, 4);
  const Outcome half = run(job, 3, 2);
  EXPECT_EQ(resumed(job, 2, 2, 4, half).digest, one_go.digest);
  EXPECT_GT(value_in(one_go, "augment.strength"), value_in(half, "augment.strength"));
}

TEST_F(AugmentedTraining, StrengthMovesByTheImagesOfEachUpdate) {
  JobSpec job = adaptive_dcgan(images());
  job.network("discriminator").steps = 2;
  const Outcome outcome = run(job, 2, 2);  // four updates of 16 images, 0.08 each
  EXPECT_NEAR(value_in(outcome, "augment.strength"), 0.32, 1e-5);
  const double signs = value_in(outcome, "augment.signs");
  EXPECT_GE(signs, -1.0 - 1e-5);
  EXPECT_LE(signs, 1.0 + 1e-5);
}

/// Lazy regularisation updates the discriminator without real pictures.
TEST_F(AugmentedTraining, ALazyUpdateLeavesTheStrengthAsItIs) {
  JobSpec job = adaptive_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  job.model.activation = Activation::kSoftplus;
  EXPECT_NEAR(value_in(run(job, 2, 3), "augment.strength"), 0.24, 1e-5);
}

TEST_F(AugmentedTraining, WithStrengthZeroTrainsAsAJobThatDoesNotAugment) {
  JobSpec job = adaptive_dcgan(images());
  job.training.augment.target = 2.0;  // p stays, for any real pictures
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
  job.training.augment.strength = 0.4;  // half of its change, at the end of step 1
  EXPECT_EQ(run(job, 1, 1).digest, risen);
}

TEST_F(AugmentedTraining, BelongsToTheJob) {
  JobSpec job = adaptive_dcgan(images());
  job.training.augment.strength = 0.5;
  const std::string half = run(job, 1, 1).digest;
  job.training.augment.strength = 0.6;
  EXPECT_NE(run(job, 1, 1).digest, half);
}

}  // namespace
}  // namespace gangway::fidelity
