// SPDX-License-Identifier: MIT
#include "worker/step/step_operations.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "data/dataset.hpp"
#include "data/open_dataset.hpp"
#include "gan/recipes/adversarial.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/worker/small_network.hpp"
#include "worker/training.hpp"

namespace gangway::worker {
namespace {

using pipeline::Instruction;
using pipeline::Operation;

/// One worker with all micro-batches; a test performs its instructions one by one.
class SingleWorker {
 public:
  explicit SingleWorker(const JobSpec& job)
      : job_(job),
        transport_(hub_, 0),
        phases_(gan::adversarial_phases(job_)),
        dataset_(data::open_dataset(job_.data, job_.model, job_.training.seed)),
        replica_(job_, {.layout = resolve_layout(job_, 1), .hosts = {0}},
                 comm::HostMemory::alone(0, 2 * comm::kFlagsPerNetwork), device_),
        exchange_{.transport = transport_,
                  .lane = lane_,
                  .host = replica_.host(),
                  .ranges = {all()},
                  .hosts = {0},
                  .num_microbatches = job_.training.microbatches,
                  .timeout = std::chrono::seconds(20)},
        reals_(job_, *dataset_, all(), 0),
        networks(replica_.networks()),
        operations({.job = job_,
                    .options = job_,
                    .execution = job_.layout,
                    .phases = phases_,
                    .networks = networks,
                    .reals = reals_,
                    .exchange = exchange_,
                    .exchanges = device_.connect(networks, exchange_),
                    .device = at::kCPU,
                    .local = all()}) {}

  [[nodiscard]] std::vector<Instruction> schedule(std::int64_t step) const {
    return pipeline::one_stage_schedule(phases_, {0, job_.training.microbatches}, step,
                                        job_.layout.overlap);
  }
  void perform(const std::vector<Instruction>& schedule) {
    pipeline::execute(schedule, operations);
    operations.settle();
  }

 private:
  [[nodiscard]] MicrobatchRange all() const { return {0, job_.training.microbatches}; }

  JobSpec job_;
  comm::LoopbackHub hub_{1};
  comm::LoopbackTransport transport_;
  comm::Lane lane_{[] {}};
  std::vector<pipeline::Phase> phases_;
  std::unique_ptr<data::Dataset> dataset_;
  CpuDevice device_{job_};
  Replica replica_;
  ExchangeSetup exchange_;
  RealBatches reals_;

 public:
  PerNetwork<NetworkState*> networks;
  StepOperations operations;
};

/// Returns the instructions of `schedule` in phases that train `network`.
std::vector<Instruction> of_network(const std::vector<Instruction>& schedule, const JobSpec& job,
                                    NetworkId network) {
  const std::vector<pipeline::Phase> phases = gan::adversarial_phases(job);
  std::vector<Instruction> found;
  for (const Instruction& instruction : schedule) {
    if (pipeline::trains(phases[static_cast<std::size_t>(instruction.phase)], network)) {
      found.push_back(instruction);
    }
  }
  return found;
}

std::vector<float> copy(const comm::Arena& arena) {
  return {arena.data(), arena.data() + arena.size()};
}

class StepOperationsTest : public ::testing::Test {
 protected:
  [[nodiscard]] static JobSpec dcgan() { return fidelity::small_dcgan(fidelity::tiny_images()); }
};

TEST_F(StepOperationsTest, TheGeneratorsPhaseLeavesTheDiscriminatorUntouched) {
  const JobSpec job = dcgan();
  SingleWorker worker(job);
  worker.operations.begin_step(0);
  worker.perform(of_network(worker.schedule(0), job, kDiscriminator));
  const std::vector<float> weights = copy(worker.networks[kDiscriminator]->weights());
  const std::vector<float> moments = copy(worker.networks[kDiscriminator]->moments()[0]);
  std::vector<at::Tensor> gradients;
  for (const auto& named : worker.networks[kDiscriminator]->network().parameters()) {
    gradients.push_back(named.parameter->tensor.grad().clone());
    EXPECT_GT(gradients.back().abs().max().item<float>(), 0.0F) << named.name;
  }
  worker.perform(of_network(worker.schedule(0), job, kGenerator));
  EXPECT_EQ(copy(worker.networks[kDiscriminator]->weights()), weights);  // statistics included
  EXPECT_EQ(copy(worker.networks[kDiscriminator]->moments()[0]), moments);
  std::size_t i = 0;
  for (const auto& named : worker.networks[kDiscriminator]->network().parameters()) {
    EXPECT_TRUE(at::equal(named.parameter->tensor.grad(), gradients[i++])) << named.name;
  }
}

TEST_F(StepOperationsTest, TheGeneratorsPhaseComputesNoneOfTheDiscriminatorsWeightGradients) {
  for (const LossKind loss : {LossKind::kNonsaturating, LossKind::kRelativistic}) {
    JobSpec job = dcgan();
    job.training.loss = loss;
    SingleWorker worker(job);
    worker.operations.begin_step(0);
    worker.perform(of_network(worker.schedule(0), job, kDiscriminator));
    for (const auto& named : worker.networks[kDiscriminator]->network().parameters()) {
      named.parameter->tensor.mutable_grad() = at::Tensor();
    }
    worker.perform(of_network(worker.schedule(0), job, kGenerator));
    for (const auto& named : worker.networks[kDiscriminator]->network().parameters()) {
      EXPECT_FALSE(named.parameter->tensor.grad().defined()) << named.name;
    }
  }
}

TEST_F(StepOperationsTest, TheDiscriminatorsPhasesLeaveTheGeneratorUntouched) {
  JobSpec job = dcgan();
  job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 1.0, .r1_interval = 4};
  SingleWorker worker(job);
  const std::vector<float> weights = copy(worker.networks[kGenerator]->weights());
  worker.operations.begin_step(0);
  worker.perform(of_network(worker.schedule(0), job, kDiscriminator));
  worker.operations.finish_exchanges();
  EXPECT_EQ(copy(worker.networks[kGenerator]->weights()), weights);
  EXPECT_EQ(worker.networks[kGenerator]->counts.updates, 0);
  EXPECT_EQ(worker.networks[kDiscriminator]->counts.updates, 2);
  for (const auto& named : worker.networks[kGenerator]->network().parameters()) {
    EXPECT_FALSE(named.parameter->tensor.grad().defined()) << named.name;
  }
}

TEST_F(StepOperationsTest, APurePenaltyGivesTheLastBiasAnExactZero) {
  JobSpec job = fidelity::small_mlp();
  job.model.activation = Activation::kSoftplus;  // smooth: all other biases have influence
  job.training.penalty = {.r1_gamma = 1.0, .r1_interval = 4};
  job.network("discriminator").optimizer.betas = {0.0, 0.99};  // the first moment is the gradient
  SingleWorker worker(job);
  worker.operations.begin_step(0);
  worker.perform(worker.schedule(0));  // its last phase is the regulariser's
  NetworkState& state = *worker.networks[kDiscriminator];
  for (const NetworkState::TensorPlace& place : state.places()) {
    const float largest =
        NetworkState::view(state.moments()[0].data(), place).abs().max().item<float>();
    if (place.name == "discriminator/3/bias") {
      EXPECT_EQ(largest, 0.0F);
    } else {
      EXPECT_GT(largest, 0.0F) << place.name;
    }
  }
}

TEST_F(StepOperationsTest, ReportsAFiniteLossForEveryMicrobatch) {
  SingleWorker worker(dcgan());
  for (std::int64_t step = 0; step < 2; ++step) {
    worker.operations.begin_step(step);
    worker.perform(worker.schedule(step));
    const std::vector<messages::MicrobatchLoss> losses = worker.operations.take_losses().read();
    ASSERT_EQ(losses.size(), 4U);
    for (int microbatch = 0; microbatch < 4; ++microbatch) {
      const messages::MicrobatchLoss& loss = losses[static_cast<std::size_t>(microbatch)];
      EXPECT_EQ(loss.microbatch, microbatch);
      for (const double value : loss.by_network) {
        EXPECT_TRUE(std::isfinite(value) && value > 0.0);
      }
    }
  }
}

/// For any half-life: decay (1 + t) / (10 + t) after t updates, a half-life of t ln 2 / 9.
TEST_F(StepOperationsTest, AveragesOverNoMoreThanAShareOfTheUpdatesSoFar) {
  JobSpec job = dcgan();
  job.network("generator").ema_kimg = 1e6;
  SingleWorker worker(job);
  NetworkState& generator = *worker.networks[kGenerator];
  std::vector<float> expected = copy(generator.weights());
  for (std::int64_t step = 0; step < 3; ++step) {
    worker.operations.begin_step(step);
    worker.perform(worker.schedule(step));
    const double updates = static_cast<double>(step + 1);
    const auto gain = static_cast<float>(1.0 - (1.0 + updates) / (10.0 + updates));
    const std::vector<float> weights = copy(generator.weights());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += gain * (weights[i] - expected[i]);
    }
    EXPECT_EQ(copy(*generator.average()), expected);
  }
}

void expect_first_average_to_decay_by_2_to_the_minus_8(const JobSpec& job) {
  SingleWorker worker(job);
  NetworkState& generator = *worker.networks[kGenerator];
  std::vector<float> expected = copy(generator.weights());
  worker.operations.begin_step(0);
  worker.perform(worker.schedule(0));
  const std::vector<float> weights = copy(generator.weights());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += static_cast<float>(1.0 - 0x1p-8) * (weights[i] - expected[i]);
  }
  EXPECT_EQ(copy(*generator.average()), expected);
}

/// Decay 2^(-images of a step / half-life), if that is less than the bound above.
TEST_F(StepOperationsTest, AveragesWithAHalfLifeInImages) {
  JobSpec job = dcgan();
  job.network("generator").ema_kimg = static_cast<double>(job.images_per_step()) / 8000.0;
  expect_first_average_to_decay_by_2_to_the_minus_8(job);
}

/// After the first of two steps of the rise: half of a quarter of a step's images; decay 2^-8,
/// which is less than the bound above.
TEST_F(StepOperationsTest, AveragesWithAHalfLifeThatRises) {
  JobSpec job = dcgan();
  const double kimg_of_step = static_cast<double>(job.images_per_step()) / 1e3;
  job.network("generator").ema_kimg = kimg_of_step / 4.0;
  job.network("generator").ema_schedule.warmup_kimg = 2.0 * kimg_of_step;
  expect_first_average_to_decay_by_2_to_the_minus_8(job);
}

/// Images are counted up to the end of the step: the first of four steps of warm-up has a quarter
/// of the rate.
TEST_F(StepOperationsTest, ScalesTheRateByTheImagesSeenWhenTheStepIsOver) {
  JobSpec job = dcgan();
  job.network("discriminator").schedule.warmup_kimg =
      4.0 * static_cast<double>(job.images_per_step()) / 1e3;
  SingleWorker warming(job);
  job.network("discriminator").schedule = {};
  job.network("discriminator").optimizer.lr /= 4.0;
  SingleWorker slow(job);
  for (SingleWorker* worker : {&warming, &slow}) {
    worker->operations.begin_step(0);
    worker->perform(worker->schedule(0));
  }
  EXPECT_TRUE(same_bits(warming.networks[kDiscriminator]->weights(),
                        slow.networks[kDiscriminator]->weights()));
}

TEST_F(StepOperationsTest, ClipsTheMeanGradientToTheNormOfTheJob) {
  JobSpec job = dcgan();
  job.network("discriminator").optimizer.betas = {0.0, 0.99};
  job.network("discriminator").clip_norm = 0.01;
  SingleWorker worker(job);
  worker.operations.begin_step(0);
  worker.perform(of_network(worker.schedule(0), job, kDiscriminator));
  double squares = 0.0;
  for (const float value : copy(worker.networks[kDiscriminator]->moments()[0])) {
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-6);
}

TEST_F(StepOperationsTest, ClipsOnlyTheNetworkThatAsksForIt) {
  JobSpec job = dcgan();
  job.network("generator").optimizer.betas = {0.0, 0.99};
  job.network("discriminator").clip_norm = 0.01;
  job.network("discriminator").optimizer.lr = 0.0;
  SingleWorker clipped(job);
  job.network("discriminator").clip_norm = 0.0;
  SingleWorker unclipped(job);
  for (SingleWorker* worker : {&clipped, &unclipped}) {
    worker->operations.begin_step(0);
    worker->perform(worker->schedule(0));
  }
  EXPECT_TRUE(same_bits(clipped.networks[kGenerator]->moments()[0],
                        unclipped.networks[kGenerator]->moments()[0]));
  EXPECT_FALSE(same_bits(clipped.networks[kDiscriminator]->moments()[0],
                         unclipped.networks[kDiscriminator]->moments()[0]));
}

TEST_F(StepOperationsTest, AnUpdateThatOverflowsIsSkippedAndHalvesTheLossScale) {
  JobSpec job = dcgan();
  for (NetworkSpec& network : job.networks) {
    network.precision = Precision::kFp16;
  }
  SingleWorker worker(job);
  NetworkState& discriminator = *worker.networks[kDiscriminator];
  discriminator.counts.scale_exponent = 40;  // too large for any gradient in fp16
  worker.networks[kGenerator]->counts.scale_exponent = 0;
  const std::vector<float> weights = copy(discriminator.weights());
  const std::vector<float> moments = copy(discriminator.moments()[1]);
  worker.operations.begin_step(0);
  worker.perform(worker.schedule(0));
  worker.operations.settle();
  EXPECT_EQ(copy(discriminator.weights()), weights);  // statistics included
  EXPECT_EQ(copy(discriminator.moments()[1]), moments);
  EXPECT_EQ(discriminator.counts,
            (comm::UpdateCounts{.updates = 0, .skipped = 1, .scale_exponent = 39, .in_a_row = 1}));
  EXPECT_EQ(worker.networks[kGenerator]->counts, (comm::UpdateCounts{.updates = 1, .unbroken = 1}));
  const std::vector<messages::SkippedUpdate> skips = worker.operations.take_skips();
  ASSERT_EQ(skips.size(), 1U);
  EXPECT_EQ(skips.front(), (messages::SkippedUpdate{.network = static_cast<int>(kDiscriminator),
                                                    .step = 1,
                                                    .update = 1,
                                                    .loss_scale = std::exp2(39.0)}));
}

TEST_F(StepOperationsTest, TooManySkipsInARowEndTheTraining) {
  JobSpec job = dcgan();
  job.training.batch = job.training.microbatches;
  job.network("discriminator").precision = Precision::kFp16;
  SingleWorker worker(job);
  try {
    for (int step = 0; step < 25; ++step) {
      worker.networks[kDiscriminator]->counts.scale_exponent = 40;
      worker.operations.begin_step(step);
      worker.perform(worker.schedule(step));
      worker.operations.settle();
    }
    FAIL() << "it went on";
  } catch (const DivergedError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith(
                                  "step 25: the gradient of the discriminator was not finite in "
                                  "25 updates in a row"));
  }
}

TEST_F(StepOperationsTest, ABoundOnTheNormChangesNoBit) {
  JobSpec job = dcgan();
  SingleWorker plain(job);
  job.training.divergence.gradient_norm = 1e30;
  SingleWorker bounded(job);
  for (SingleWorker* worker : {&plain, &bounded}) {
    worker->operations.begin_step(0);
    worker->perform(worker->schedule(0));
  }
  for (const NetworkId network : {kGenerator, kDiscriminator}) {
    EXPECT_TRUE(
        same_bits(plain.networks[network]->weights(), bounded.networks[network]->weights()));
    EXPECT_EQ(plain.networks[network]->counts, bounded.networks[network]->counts);
  }
}

TEST_F(StepOperationsTest, AGradientAboveItsBoundIsTroubleOfItsStep) {
  JobSpec job = dcgan();
  job.training.divergence.gradient_norm = 1e-6;
  job.network("discriminator").clip_norm = 1e-9;  // the bound is checked before clipping
  SingleWorker worker(job);
  worker.operations.begin_step(0);
  try {
    worker.perform(worker.schedule(0));
    FAIL() << "it went on";
  } catch (const DivergedError& error) {
    EXPECT_EQ(error.step(), 1);
    EXPECT_THAT(error.what(),
                ::testing::StartsWith("step 1: the norm of the discriminator's gradient "
                                      "is "));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("gradient_norm 1e-06"));
  }
}

TEST_F(StepOperationsTest, AGradientThatIsNoNumberIsAboveAnyBoundWhereNothingIsSkipped) {
  JobSpec job = dcgan();
  job.training.divergence.gradient_norm = 1e30;
  SingleWorker worker(job);
  worker.networks[kDiscriminator]->weights().data()[0] = std::nanf("");
  worker.operations.begin_step(0);
  EXPECT_THROW(worker.perform(worker.schedule(0)), DivergedError);
  EXPECT_EQ(worker.networks[kDiscriminator]->counts.skipped, 0);
}

}  // namespace
}  // namespace gangway::worker
