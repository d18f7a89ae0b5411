// SPDX-License-Identifier: MIT
// Compares gradients and losses of one step on one worker with a plain reference; layout_test.cpp
// compares layouts with one worker. With a first beta of 0 Adam's first moment is the mean
// gradient, so that a checkpoint contains it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/fidelity/plain_reference.hpp"
#include "tests/named_rows.hpp"

namespace gangway::fidelity {
namespace {

constexpr double kTolerance = 1e-6;  // of a tensor's largest value

NamedValues gradients_in(const NamedValues& state, const std::string& network) {
  const std::string prefix = network + "_optimizer/first_moment/";
  NamedValues found;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix)) {
      found[network + "/" + name.substr(prefix.size())] = tensor;
    }
  }
  return found;
}

double largest_in(const NamedValues& gradients) {
  double largest = 0.0;
  for (const auto& [name, gradient] : gradients) {
    largest = std::max(largest, gradient.abs().max().item<double>());
  }
  return largest;
}

/// @param cancelling  endings of names of tensors whose gradients are sums over pixels that nearly
///     cancel: they are compared relative to the network's largest gradient
/// @param unrounded  the reference in double, used where both differ. A sum of thousands of
/// products
///     has errors in float's last bits on either side, depending on the processor's kernels
void expect_close(const NamedValues& values, const NamedValues& reference,
                  const std::vector<std::string>& cancelling,
                  const std::function<NamedValues()>& unrounded) {
  ASSERT_EQ(values.size(), reference.size());
  const double largest = largest_in(reference);
  for (const auto& [name, expected] : reference) {
    ASSERT_TRUE(values.contains(name)) << name;
    const bool cancels = std::ranges::any_of(
        cancelling, [&name = name](const std::string& end) { return name.ends_with(end); });
    const auto error = [&, &value = values.at(name)](const at::Tensor& from) {
      return cancels ? (value - from).abs().max().item<double>() / largest
                     : relative_error(value, from);
    };
    if (!(error(expected) <= kTolerance)) {
      EXPECT_LE(error(unrounded().at(name)), kTolerance) << name;
    }
  }
}

/// A Wasserstein loss is a difference of logits, about 0.01 at the start, which may cancel.
double loss_tolerance(double loss) { return kTolerance * std::max(std::abs(loss), 0.01); }

/// The reference's values for a checkpoint after one step.
struct Expected {
  NamedValues discriminator;  // gradients of its last update
  NamedValues generator;
  NamedValues statistics;                    // running means and variances of both networks
  std::map<int, double> discriminator_loss;  // by micro-batch
  std::map<int, double> generator_loss;
};

/// Moves BatchNorm's running values, the mean path length, LeCam's means, and the directions of
/// spectral norms, by one more update.
void fold(NamedValues& running, const NamedValues& seen) {
  for (const auto& [name, mean] : seen) {
    if (name.ends_with(".direction")) {
      running[name] = mean;
      continue;
    }
    const bool is_variance = name.ends_with("running_var");
    const at::Tensor before =
        running.contains(name) ? running[name] : at::full_like(mean, is_variance ? 1.0 : 0.0);
    const bool is_slow = name.ends_with("path_length") || name.find("/lecam_") != std::string::npos;
    const double momentum = is_slow ? 0.01 : 0.1;
    running[name] = before * (1.0 - momentum) + mean * momentum;
  }
}

/// @pre the discriminator is updated once, or its learning rate is 0, because the reference has no
/// optimiser.
Expected expected_after_one_step(const JobSpec& job, const NamedValues& updated_discriminator,
                                 at::ScalarType precision) {
  PlainReference reference(job, precision);
  Expected expected;
  for (const pipeline::Phase& phase : gan::adversarial_phases(job)) {
    const bool is_generator = pipeline::trains(phase, kGenerator);
    if (is_generator) {
      reference.set_weights(updated_discriminator);
    }
    for (int repeat = 0; repeat < phase.repeats; ++repeat) {
      const PlainGradients found = reference.gradients(phase, 0, repeat);
      (is_generator ? expected.generator : expected.discriminator) = found.mean;
      if (phase.interval > 1) {  // a lazy regulariser is not part of the shown loss
        if (is_generator) {
          fold(expected.statistics, found.statistics);  // of path lengths; the other has none
        }
        continue;
      }
      fold(expected.statistics, found.statistics);
      for (std::size_t i = 0; i < found.losses.size(); ++i) {
        (is_generator ? expected.generator_loss
                      : expected.discriminator_loss)[static_cast<int>(i)] +=
            found.losses[i] / phase.repeats;
      }
    }
  }
  return expected;
}

NamedValues with_prefix(const NamedValues& state, const std::string& prefix) {
  NamedValues found;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix)) {
      found[name] = tensor;
    }
  }
  return found;
}

void compare(const JobSpec& job, const Outcome& outcome,
             const std::vector<std::string>& cancelling) {
  const NamedValues state = tensors_of(outcome.checkpoint);
  const NamedValues updated = with_prefix(state, "discriminator/");
  const Expected expected = expected_after_one_step(job, updated, at::kFloat);
  const auto unrounded = [&] { return expected_after_one_step(job, updated, at::kDouble); };
  expect_close(gradients_in(state, "discriminator"), expected.discriminator, cancelling,
               [&] { return unrounded().discriminator; });
  expect_close(gradients_in(state, "generator"), expected.generator, cancelling,
               [&] { return unrounded().generator; });
  for (const auto& [name, value] : expected.statistics) {
    ASSERT_TRUE(state.contains(name)) << name;
    EXPECT_LE(relative_error(state.at(name), value), kTolerance) << name;
  }
  for (const auto& [microbatch, loss] : outcome.losses.at(1)) {
    const double discriminator = expected.discriminator_loss.at(microbatch);
    const double generator = expected.generator_loss.at(microbatch);
    EXPECT_NEAR(loss.by_network[1], discriminator, loss_tolerance(discriminator));
    EXPECT_NEAR(loss.by_network[0], generator, loss_tolerance(generator));
  }
}

class Gradient : public BesideOneWorker {
 protected:
  Gradient() {
    at::set_num_threads(
        1);  // equal to the workers', so that rounding does not depend on the machine's load
  }

  [[nodiscard]] static JobSpec showing_gradients(JobSpec job) {
    job.network("generator").optimizer.betas = {0.0, 0.99};
    job.network("discriminator").optimizer.betas = {0.0, 0.99};
    return job;
  }
  [[nodiscard]] JobSpec dcgan() const { return showing_gradients(small_dcgan(images())); }
  void expect_equal_to_reference(const JobSpec& job,
                                 const std::vector<std::string>& cancelling = {}) {
    compare(job, run(job, 1, 1), cancelling);
  }
};

TEST_F(Gradient, OfTheNonsaturatingLoss) { expect_equal_to_reference(dcgan()); }

TEST_F(Gradient, OfLeastSquares) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kLeastSquares;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfTheHingeLoss) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kHinge;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfSmoothedAndNoisyLabels) {
  JobSpec job = dcgan();
  job.training.labels = {.smoothing = 0.1, .noise = 0.4};
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfNoisyLabelsUnderLeastSquares) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kLeastSquares;
  job.training.labels = {.noise = 0.4};
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfLecamRegularisation) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kHinge;
  job.training.lecam = {.weight = 0.3};
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfOrthogonalRegularisationInAnotherFamily) {
  JobSpec job = dcgan();
  job.training.orthogonal_weight = 10.0;  // nearly as large as the loss's gradient
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfTheRelativisticLoss) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kRelativistic;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfAPenaltyOnItsWayToItsFinalWeight) {
  JobSpec job = dcgan();
  job.training.penalty = {.r1_gamma = 10.0, .r2_gamma = 5.0, .final_factor = 0.1};
  job.training.burn_in_kimg = 2.5 * static_cast<double>(job.images_per_step()) / 1000.0;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfPenaltiesWithSchedulesOfTheirOwn) {
  JobSpec job = dcgan();
  const double end_kimg = 2.5 * static_cast<double>(job.images_per_step()) / 1000.0;
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 10.0};
  job.training.penalty.gamma_schedule = {
      .decay = DecayKind::kLinear, .end_kimg = end_kimg, .final_value = 0.1};
  job.training.penalty.gradient_schedule = {
      .decay = DecayKind::kLinear, .end_kimg = end_kimg, .final_value = 4.0};
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfALabelledNetwork) {
  JobSpec job = dcgan();
  job.model.classes = 10;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfR3gansNetworks) {
  JobSpec job = dcgan();
  job.model = {.family = family_named("r3gan"), .width = 16, .blocks = 1, .latent = 8};
  job.training.loss = LossKind::kRelativistic;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfGatsNetworks) {
  JobSpec job = dcgan();
  job.model = {.family = family_named("gat"), .width = 16, .blocks = 2, .patch = 8, .latent = 8};
  job.training.loss = LossKind::kRelativistic;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfBigganUnderOrthogonalRegularisation) {
  JobSpec job = dcgan();
  job.model = {
      .family = family_named("biggan"), .width = 4, .attention = 16, .latent = 9, .classes = 10};
  job.training.loss = LossKind::kHinge;
  job.training.orthogonal_weight = 0.01;
  // BatchNorm cancels these biases.
  expect_equal_to_reference(job, {"first.bias", "second.bias", "shortcut.bias"});
}

JobSpec with_styles(JobSpec job) {
  job.model = {.family = family_named("stylegan2"),
               .width = 2,
               .latent = 8,
               .classes = 10,
               .mapping_layers = 2};
  job.numerics.memory_format = MemoryFormat::kContiguous;  // as with R1 through BatchNorm, below
  return job;
}

TEST_F(Gradient, OfStylegan2sNetworks) {
  JobSpec job = with_styles(dcgan());
  job.training.penalty.r1_gamma = 2.0;
  // Demodulation cancels the factors of a style.
  expect_equal_to_reference(job, {"noise_strength", "factors.weight"});
}

TEST_F(Gradient, OfPathLengthsInEveryStep) {
  JobSpec job = with_styles(dcgan());
  job.training.path_length = {.weight = 2.0, .interval = 1};
  expect_equal_to_reference(job, {"noise_strength"});
}

TEST_F(Gradient, OfLazyPathLengthsAlone) {
  JobSpec job = with_styles(dcgan());
  job.training.path_length = {.weight = 2.0, .interval = 4};
  job.network("generator").optimizer.lr = 0.0;
  expect_equal_to_reference(job, {"noise_strength"});
}

TEST_F(Gradient, OfNetworksThatGrowWithinAFade) {
  JobSpec job = dcgan();
  job.model = {.family = family_named("progressive"), .width = 8, .latent = 8};
  const double kimg_a_step = static_cast<double>(job.images_per_step()) / 1000.0;
  job.training.growth = {.from = 8, .kimg = 0.0, .fade_kimg = 2.0 * kimg_a_step};
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfANetworkWithDropout) {
  JobSpec job = dcgan();
  job.model.dropout = 0.3;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfTheWassersteinLossWithGradientPenalty) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kWasserstein;
  job.training.penalty.gradient_penalty = 10.0;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfTheSecondCriticStep) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kWasserstein;
  job.training.penalty.gradient_penalty = 10.0;
  job.network("discriminator").steps = 2;
  job.network("discriminator").optimizer.lr = 0.0;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfR1ThroughBatchNormAndSmoothActivations) {
  JobSpec job = dcgan();
  job.training.penalty.r1_gamma = 2.0;
  job.model.activation = Activation::kSoftplus;
  job.model.normalization = Normalization::kBatch;
  // With channels last, whole and blockwise double backward choose other kernels, whose float32
  // noise alone is 2e-6 (both against float64). tests/gan/penalty_test.cpp shows in float64 that
  // the sweeps are exact in either format.
  job.numerics.memory_format = MemoryFormat::kContiguous;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfR1AndR2WithLabels) {
  JobSpec job = dcgan();
  job.training.loss = LossKind::kRelativistic;
  job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0};
  job.model.classes = 10;
  expect_equal_to_reference(job);
}

TEST_F(Gradient, OfALazyR1AloneLeavesTheLastBiasAtZero) {
  JobSpec job = showing_gradients(small_mlp());
  job.model.activation = Activation::kSoftplus;
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 4};
  job.network("discriminator").optimizer.lr = 0.0;
  expect_equal_to_reference(job);
  const Expected expected = expected_after_one_step(job, {}, at::kFloat);
  EXPECT_EQ(expected.discriminator.at("discriminator/3/bias").abs().max().item<float>(), 0.0F);
  EXPECT_GT(expected.discriminator.at("discriminator/2/bias").abs().max().item<float>(), 0.0F);
}

TEST_F(Gradient, OfADensePairOnPoints) {
  expect_equal_to_reference(showing_gradients(small_mlp()));
}

}  // namespace
}  // namespace gangway::fidelity
