// SPDX-License-Identifier: MIT
// Compares the gradients of augmented passes with plain autograd through network, augmentation and
// loss.
#include <gtest/gtest.h>

#include "gan/augment/augmentation.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/worker/one_microbatch.hpp"

namespace gangway::worker {
namespace {

constexpr double kAugmentedTolerance = 1e-5;
constexpr double kAugmentedStrength = 0.5;
constexpr double kGamma = 3.0;
constexpr int kR1 = 2;  // number of the pass; R2 is the next one

JobSpec augmented_dcgan() {
  JobSpec job = fidelity::small_dcgan(fidelity::tiny_images());
  job.model.normalization = Normalization::kNone;
  job.training.augment = {.policy = AugmentPolicy::kAda,
                          .chosen = available_kinds(AugmentPolicy::kAda),
                          .strength = kAugmentedStrength,
                          .penalised = PenalisedPictures::kOriginal};
  job.training.penalty = {.r1_gamma = kGamma, .r2_gamma = kGamma};
  job.model.activation = Activation::kSoftplus;
  return job;
}

class AugmentedGradients : public ::testing::Test {
 protected:
  AugmentedGradients() {
    begin([](JobSpec&) {});
  }
  void begin(const std::function<void(JobSpec&)>& change) {
    JobSpec job = augmented_dcgan();
    change(job);
    one_.emplace(std::move(job));
  }
  /// Computes R1 as the authors' code does: by the gradient at pictures before their augmentation.
  at::Tensor penalty_through(const at::Tensor& pictures, RandomKey augmentation, int pass) {
    augmentation.pass += pass;
    const at::Tensor original = pictures.detach().requires_grad_(true);
    const at::Tensor logits = judged(augmented(original, augmentation));
    const at::Tensor gradient =
        torch::autograd::grad({logits.sum()}, {original}, {}, true, /*create_graph=*/true).front();
    return gradient.square().sum({1, 2, 3}).mean() *
           (kGamma / 2.0 * now(1.0, job().training.penalty.gamma_course()));
  }
  [[nodiscard]] RandomKey key(int phase, RandomDraw draw, int stream) const {
    return one_->key(draw, phase, stream << 16);
  }
  [[nodiscard]] at::Tensor augmented(const at::Tensor& pictures, const RandomKey& key) const {
    return gan::Augmentation(job().training.augment, 16.0)
        .augmented(
            pictures,
            at::full({1}, now(kAugmentedStrength, job().training.augment.schedule), at::kDouble),
            key);
  }
  [[nodiscard]] at::Tensor generated(int phase, int pass) {
    return one_->apply(kGenerator, one_->noise(phase, pass));
  }
  [[nodiscard]] at::Tensor judged(const at::Tensor& pictures) {
    return one_->apply(kDiscriminator, pictures);
  }
  [[nodiscard]] const JobSpec& job() const { return one_->job(); }
  /// Returns the value at the end of the step that begins with `base`.
  [[nodiscard]] double now(double base, const ScheduleSpec& schedule) const {
    return scheduled(base, schedule,
                     static_cast<double>((one_->step() + 1) * job().images_per_step()),
                     job().burn_in_images());
  }

  std::optional<OneMicrobatch> one_;
};

TEST_F(AugmentedGradients, OfTheGeneratorComeThroughTheAugmentation) {
  const Gradients found = one_->of_recipe(/*phase=*/1, /*pass=*/0);
  const at::Tensor shown = augmented(generated(1, 0), key(1, RandomDraw::kAugmentFlip, 1));
  expect_close(found, one_->of_loss(1, at::softplus(-judged(shown)).mean()), kAugmentedTolerance);
}

TEST_F(AugmentedGradients, OfTheDiscriminatorAreThoseOfAugmentedRealPictures) {
  const Gradients found = one_->of_recipe(/*phase=*/0, /*pass=*/0);
  const at::Tensor shown = augmented(one_->real(), key(0, RandomDraw::kAugmentFlip, 0));
  EXPECT_FALSE(at::equal(shown, one_->real()));
  expect_close(found, one_->of_loss(0, at::softplus(-judged(shown)).mean()), kAugmentedTolerance);
}

TEST_F(AugmentedGradients, OfAPenaltyComeThroughTheAugmentation) {
  const Gradients of_real = one_->of_recipe(/*phase=*/0, kR1);
  expect_close(
      of_real,
      one_->of_loss(0, penalty_through(one_->real(), key(0, RandomDraw::kAugmentFlip, 0), kR1)),
      kAugmentedTolerance);
  const Gradients of_fake = one_->of_recipe(/*phase=*/0, kR1 + 1);
  expect_close(of_fake,
               one_->of_loss(0, penalty_through(generated(0, kR1 + 1),
                                                key(0, RandomDraw::kAugmentFlip, 1), kR1 + 1)),
               kAugmentedTolerance);
}

TEST_F(AugmentedGradients, HaveTheStrengthAndTheWeightOfTheirOwnStep) {
  begin([](JobSpec& job) {
    const double kimg = static_cast<double>(job.images_per_step()) / 1000.0;
    job.training.augment.schedule = {
        .decay = DecayKind::kLinear, .end_kimg = 4 * kimg, .final_value = 1.0};
    job.training.penalty.gamma_schedule = {
        .decay = DecayKind::kLinear, .end_kimg = 4 * kimg, .final_value = 0.1};
  });
  const Gradients found = one_->of_recipe(/*phase=*/0, kR1, /*steps=*/3);
  EXPECT_GT(now(kAugmentedStrength, job().training.augment.schedule), 0.8);
  EXPECT_LT(now(1.0, job().training.penalty.gamma_course()), 0.5);
  expect_close(
      found,
      one_->of_loss(0, penalty_through(one_->real(), key(0, RandomDraw::kAugmentFlip, 0), kR1)),
      kAugmentedTolerance);
}

}  // namespace
}  // namespace gangway::worker
