// SPDX-License-Identifier: MIT
#include "tests/fidelity/small_jobs.hpp"

#include <cstdint>
#include <fstream>
#include <functional>

#include "gan/random.hpp"
#include "job/models/families.hpp"

namespace gangway::fidelity {
namespace {

constexpr std::uint32_t kImages = 64;
constexpr std::uint32_t kSide = 28;

void write_number(std::ofstream& file, std::uint32_t value) {  // IDX is big-endian
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    file.put(static_cast<char>((value >> shift) & 0xFFU));
  }
}

}  // namespace

void write_tiny_images(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const KeyedRandom random(RandomKey{.seed = 17});
  std::ofstream images(folder / "train-images-idx3-ubyte", std::ios::binary);
  for (const std::uint32_t number : {0x803U, kImages, kSide, kSide}) {
    write_number(images, number);
  }
  for (std::uint32_t i = 0; i < kImages * kSide * kSide; ++i) {
    images.put(static_cast<char>(random.bits(i) & 0xFFU));
  }
  std::ofstream labels(folder / "train-labels-idx1-ubyte", std::ios::binary);
  write_number(labels, 0x801U);
  write_number(labels, kImages);
  for (std::uint32_t i = 0; i < kImages; ++i) {
    labels.put(static_cast<char>(i % 10));
  }
}

JobSpec small_dcgan(const std::filesystem::path& folder) {
  JobSpec job;
  job.model = {.width = 16, .latent = 16};
  job.data.source = "idx:" + folder.string();
  job.training.kimg = 0.5;
  job.training.batch = 16;
  job.training.microbatches = 4;
  job.training.seed = 7;
  job.generator.ema_kimg = 0.05;
  job.output.grid = 1;
  return job;
}

JobSpec small_mlp() {
  JobSpec job = small_dcgan("");
  job.model = {.family = family_named("mlp"), .width = 96, .latent = 4};
  job.data.source = "toy:ring8";
  job.training.batch = 32;
  return job;
}

std::vector<NamedJob> job_breadth(const std::filesystem::path& folder) {
  std::vector<NamedJob> jobs;
  const auto add = [&](const std::string& name, const std::function<void(JobSpec&)>& change) {
    jobs.push_back({.name = name, .job = small_dcgan(folder)});
    change(jobs.back().job);
  };
  add("Dcgan", [](JobSpec&) {});
  add("DcganContiguous",
      [](JobSpec& job) { job.numerics.memory_format = MemoryFormat::kContiguous; });
  add("DcganLabelled", [](JobSpec& job) { job.model.classes = 10; });
  add("DcganMirrored", [](JobSpec& job) { job.data.mirror = true; });
  add("DcganThreeChannels64Pixels", [](JobSpec& job) {
    job.model.width = 8;
    job.model.channels = 3;
    job.model.resolution = 64;
  });
  add("DcganDropout", [](JobSpec& job) { job.model.dropout = 0.3; });
  add("DcganNoAverage", [](JobSpec& job) { job.generator.ema_kimg = 0.0; });
  add("WassersteinGradientPenaltyTwoSteps", [](JobSpec& job) {
    job.training.loss = LossKind::kWasserstein;
    job.training.penalty.gradient_penalty = 10.0;
    job.discriminator.steps = 2;
  });
  add("R1EveryStepSoftplusBatchNorm", [](JobSpec& job) {
    job.training.penalty.r1_gamma = 2.0;
    job.model.activation = Activation::kSoftplus;
    job.model.normalization = Normalization::kBatch;
  });
  add("R1EveryFourSteps", [](JobSpec& job) {
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 4};
    job.model.activation = Activation::kSoftplus;
  });
  jobs.back().steps = 5;
  add("Relativistic", [](JobSpec& job) { job.training.loss = LossKind::kRelativistic; });
  add("LeastSquares", [](JobSpec& job) { job.training.loss = LossKind::kLeastSquares; });
  add("Hinge", [](JobSpec& job) { job.training.loss = LossKind::kHinge; });
  add("ClippedBoth", [](JobSpec& job) {
    job.generator.clip_norm = 0.05;
    job.discriminator.clip_norm = 0.05;
  });
  add("AdamWWarmUpCosine", [](JobSpec& job) {
    for (NetworkSpec* network : {static_cast<NetworkSpec*>(&job.generator),
                                 static_cast<NetworkSpec*>(&job.discriminator)}) {
      network->optimizer = {.kind = OptimizerKind::kAdamW, .weight_decay = 0.01};
      network->schedule = {.warmup_kimg = 0.04, .decay = DecayKind::kCosine, .final_factor = 0.1};
    }
  });
  jobs.push_back({.name = "MlpR1", .job = small_mlp(), .steps = 4});
  jobs.back().job.training.penalty.r1_gamma = 1.0;
  add("Infogan", [](JobSpec& job) {
    job.model = {.family = family_named("infogan"), .resolution = 28, .width = 8, .latent = 8};
    job.training.batch = 8;
  });
  jobs.back().steps = 2;
  return jobs;
}

}  // namespace gangway::fidelity
