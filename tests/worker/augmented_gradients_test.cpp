// SPDX-License-Identifier: MIT
// What augmented passes leave in the networks, against plain autograd through network, augmentation
// and loss as a whole.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gan/augment/augmentation.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/data/open_dataset.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/gradients.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {
namespace {

constexpr double kAugmentedTolerance = 1e-5;
constexpr double kAugmentedStrength = 0.5;
constexpr double kGamma = 3.0;
constexpr int kR1 = 2;  // of the discriminator's passes; R2 is the one behind it

JobSpec augmented_dcgan(const std::filesystem::path& images) {
  fidelity::write_tiny_images(images);
  JobSpec job = fidelity::small_dcgan(images);
  job.model.normalization = Normalization::kNone;
  job.training.augment = {.policy = AugmentPolicy::kAda,
                          .chosen = available_kinds(AugmentPolicy::kAda),
                          .strength = kAugmentedStrength,
                          .penalised = PenalisedPictures::kOriginal};
  job.training.penalty = {.r1_gamma = kGamma, .r2_gamma = kGamma};
  job.model.activation = Activation::kSoftplus;
  return job;
}

/// Micro-batch 0 of an augmented job.
class AugmentedGradients : public ::testing::Test {
 protected:
  /// @param change  of the job
  explicit AugmentedGradients(void (*change)(JobSpec&) = [](JobSpec&) {}) {
    change(job_);
    phases_ = gan::phases_of(job_);
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
    }
  }

  /// What a pass leaves in the network that `phase` trains, in the last of so many steps.
  Gradients left_by(int phase, int pass, std::int64_t steps = 1) {
    PassRun run({.job = job_,
                 .phases = phases_,
                 .networks = {&networks_[kGenerator], &networks_[kDiscriminator]},
                 .sinks = {&seen_, &seen_},
                 .reals = reals_,
                 .device = at::kCPU});
    for (step_ = 0; step_ < steps; ++step_) {
      forget();
      run.begin_step(step_);
      perform(run, phase, pass);
    }
    --step_;
    return gradients(phase);
  }
  /// R1 as the authors' code has it: of the gradient to pictures that are then augmented.
  at::Tensor penalty_through(const at::Tensor& pictures, RandomKey augmentation, int pass) {
    augmentation.pass += pass;
    const at::Tensor original = pictures.detach().requires_grad_(true);
    const at::Tensor logits = judged(augmented(original, augmentation));
    const at::Tensor gradient =
        torch::autograd::grad({logits.sum()}, {original}, {}, true, /*create_graph=*/true).front();
    return gradient.square().sum({1, 2, 3}).mean() *
           (kGamma / 2.0 * now(1.0, job_.training.penalty.gamma_course()));
  }
  Gradients of_loss(int phase, const at::Tensor& loss) {
    forget();
    torch::autograd::backward({loss}, {});
    return gradients(phase);
  }

  [[nodiscard]] RandomKey key(int phase, RandomDraw draw, int stream) const {
    return {.seed = job_.training.seed,
            .step = step_,
            .phase = phase,
            .pass = stream << 16,
            .draw = static_cast<std::int32_t>(draw)};
  }
  [[nodiscard]] at::Tensor augmented(const at::Tensor& pictures, const RandomKey& key) const {
    return gan::Augmentation(job_.training.augment, 16.0)
        .augmented(
            pictures,
            at::full({1}, now(kAugmentedStrength, job_.training.augment.schedule), at::kDouble),
            key);
  }
  [[nodiscard]] at::Tensor generated(const at::Tensor& noise) {
    return networks_[kGenerator].forward({{"noise", noise}}, {});
  }
  [[nodiscard]] at::Tensor judged(const at::Tensor& pictures) {
    return networks_[kDiscriminator].forward({{"image", pictures}}, {});
  }
  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] at::Tensor reals() { return reals_.take(step_, 0, 0).images; }
  /// What begins with `base`, at the end of the step.
  [[nodiscard]] double now(double base, const ScheduleSpec& schedule) const {
    return scheduled(base, schedule, static_cast<double>((step_ + 1) * job_.images_per_step()),
                     job_.burn_in_images());
  }

 private:
  void perform(PassRun& run, int phase, int pass) {
    StepLosses losses({0, 1}, 2);
    for (const pipeline::Instruction& at :
         pipeline::one_stage_schedule(phases_, {0, 1}, 0, Overlap::kNone)) {
      if (at.phase != phase || at.pass != pass) {
        continue;
      }
      if (at.operation == pipeline::Operation::kForward) {
        run.forward(at);
      } else if (at.operation == pipeline::Operation::kBackward) {
        run.backward(at, losses);
      } else if (at.operation == pipeline::Operation::kPenaltyForward) {
        run.penalty_forward(at);
      } else if (at.operation == pipeline::Operation::kPenaltyBackward) {
        run.penalty_backward(at, losses, {});
      }
    }
  }
  void forget() {
    for (gan::Network& network : networks_) {
      for (const auto& named : network.parameters()) {
        named.parameter->tensor.mutable_grad().reset();
      }
    }
  }
  Gradients gradients(int phase) {
    Gradients found;
    const NetworkId network = phases_[static_cast<std::size_t>(phase)].networks.front();
    for (const auto& named : networks_[network].parameters()) {
      const at::Tensor& gradient = named.parameter->tensor.grad();
      found[named.name] =
          gradient.defined() ? gradient.clone() : at::zeros_like(named.parameter->tensor);
    }
    return found;
  }

  testing::ScratchFolder scratch_;
  JobSpec job_ = augmented_dcgan(scratch_.path() / "images");
  std::vector<pipeline::Phase> phases_;
  std::int64_t step_ = 0;
  PerNetwork<gan::Network> networks_ = gan::build_networks(job_);
  gan::StatisticSums seen_;
  std::unique_ptr<data::Dataset> dataset_ =
      data::open_dataset(job_.data, job_.model, job_.training.seed);
  RealBatches reals_{job_, *dataset_, MicrobatchRange{0, 1}, 0};
};

TEST_F(AugmentedGradients, OfTheGeneratorComeThroughTheAugmentation) {
  const Gradients found = left_by(/*phase=*/1, /*pass=*/0);
  const at::Tensor noise = gan::keyed_normal(
      key(1, RandomDraw::kNoise, 0), {job().images_per_microbatch(), job().model.latent}, at::kCPU);
  const at::Tensor shown = augmented(generated(noise), key(1, RandomDraw::kAugmentFlip, 1));
  expect_close(found, of_loss(1, at::softplus(-judged(shown)).mean()), kAugmentedTolerance);
}

TEST_F(AugmentedGradients, OfTheDiscriminatorAreThoseOfAugmentedRealPictures) {
  const Gradients found = left_by(/*phase=*/0, /*pass=*/0);
  const at::Tensor shown = augmented(reals(), key(0, RandomDraw::kAugmentFlip, 0));
  EXPECT_FALSE(at::equal(shown, reals()));
  expect_close(found, of_loss(0, at::softplus(-judged(shown)).mean()), kAugmentedTolerance);
}

TEST_F(AugmentedGradients, OfAPenaltyComeThroughTheAugmentationOfRealPictures) {
  const Gradients found = left_by(/*phase=*/0, kR1);
  expect_close(found,
               of_loss(0, penalty_through(reals(), key(0, RandomDraw::kAugmentFlip, 0), kR1)),
               kAugmentedTolerance);
}

TEST_F(AugmentedGradients, OfAPenaltyComeThroughTheAugmentationOfGeneratedPictures) {
  const Gradients found = left_by(/*phase=*/0, kR1 + 1);
  RandomKey noise_key = key(0, RandomDraw::kNoise, 0);
  noise_key.pass += kR1 + 1;
  const at::Tensor noise =
      gan::keyed_normal(noise_key, {job().images_per_microbatch(), job().model.latent}, at::kCPU);
  expect_close(
      found,
      of_loss(0, penalty_through(generated(noise), key(0, RandomDraw::kAugmentFlip, 1), kR1 + 1)),
      kAugmentedTolerance);
}

class ScheduledGradients : public AugmentedGradients {
 protected:
  ScheduledGradients()
      : AugmentedGradients([](JobSpec& job) {
          const double kimg = static_cast<double>(job.images_per_step()) / 1000.0;
          job.training.augment.schedule = {
              .decay = DecayKind::kLinear, .end_kimg = 4 * kimg, .final_value = 1.0};
          job.training.penalty.gamma_schedule = {
              .decay = DecayKind::kLinear, .end_kimg = 4 * kimg, .final_value = 0.1};
        }) {}
};

TEST_F(ScheduledGradients, HaveTheStrengthAndTheWeightOfTheirOwnStep) {
  const Gradients found = left_by(/*phase=*/0, kR1, /*steps=*/3);
  EXPECT_GT(now(kAugmentedStrength, job().training.augment.schedule), 0.8);
  EXPECT_LT(now(1.0, job().training.penalty.gamma_course()), 0.5);
  expect_close(found,
               of_loss(0, penalty_through(reals(), key(0, RandomDraw::kAugmentFlip, 0), kR1)),
               kAugmentedTolerance);
}

}  // namespace
}  // namespace gangway::worker
