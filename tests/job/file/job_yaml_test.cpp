// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using testing::spec_of;

TEST(JobYaml, NestsSectionsAndNamesTheOptimizer) {
  const std::string yaml = to_yaml(spec_of(""));
  EXPECT_NE(yaml.find("\nmodel:\n  family: dcgan\n  resolution: 32\n"), std::string::npos) << yaml;
  EXPECT_NE(
      yaml.find(
          "\ngenerator:\n  optimizer:\n    adam:\n      lr: 0.0002\n      betas: [0.5, 0.999]\n"),
      std::string::npos);
  EXPECT_NE(yaml.find("\n  schedule:\n    warmup_kimg: 0\n"), std::string::npos);
  EXPECT_EQ(yaml.find("adamw"), std::string::npos);
  EXPECT_NE(yaml.find("\nlayout:\n  plan: none\n  data: auto\n"), std::string::npos);
}

TEST(JobYaml, LeavesOutWhatHasNoMeaning) {
  const std::string yaml = to_yaml(spec_of("model: {family: mlp}\ndata: {source: 'toy:ring8'}"));
  EXPECT_EQ(yaml.find("resolution"), std::string::npos);
  EXPECT_EQ(yaml.find("mirror"), std::string::npos);
}

TEST(JobYaml, ParsesBackToAnEqualJobWhateverItHolds) {
  const std::vector<std::vector<std::string>> jobs = {
      {},
      {"model.family=infogan", "model.width=32", "training.loss=hinge"},
      {"model.family=mlp", "data.source=toy:grid25", "training.loss=wasserstein",
       "training.gradient_penalty=0"},
      {"generator.optimizer.sgd={}", "discriminator.optimizer.adamw={}"},
      {"training.recipe=vae", "model.family=mlp", "data.source=toy:ring8"},
      {"model.resolution=64", "model.channels=3", "model.classes=7",
       "data.source=images:/a b/it's.zip", "data.mirror=true"},
      {"training.loss=relativistic", "training.r1.gamma=0.1", "training.r1.interval=16",
       "training.r2.gamma=0.2", "training.seed=18446744073709551615"},
      {"generator.optimizer.adamw.lr=1.0000000000000002e-4",
       "discriminator.optimizer.adamw.weight_decay=1e-300"},
      {"generator.schedule.decay=cosine", "discriminator.schedule.decay=step",
       "discriminator.schedule.step_kimg=0.3"},
      {"generator.schedule.decay=onecycle", "generator.schedule.peak=0.1",
       "generator.schedule.beta1={decay: onecycle, initial: 0.9, final: 0.95, anneal: linear}",
       "generator.schedule.ema={warmup_kimg: 200, warmup_from: 0.25}",
       "discriminator.schedule.decay=step", "discriminator.schedule.milestones=[0.1, 7, 20]",
       "discriminator.schedule.beta2={decay: cosine, cycles: 3, final: 0.75}",
       "training.r1.gamma=1", "training.gradient_penalty=1",
       "training.r1.schedule={decay: step, milestones: [3, 4.5], step_factor: 0.5}",
       "training.gradient_penalty_schedule={decay: linear, start_kimg: 1, final_factor: 3}"},
      {"layout.data=2", "layout.transport=mpi", "checkpoint.every_kimg=0",
       "numerics.memory_format=contiguous"},
  };
  for (const auto& overrides : jobs) {
    const ResolvedJob job = load_job(testing::sources_of("", overrides));
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << job.yaml;
    EXPECT_EQ(to_yaml(parse_job(job.yaml, "job.yaml")), job.yaml);
    EXPECT_EQ(parse_job(chosen_yaml(job.spec), "job.yaml"), job.spec) << chosen_yaml(job.spec);
  }
}

TEST(JobYaml, PrintsChosenKeysAloneOnRequest) {
  const std::string yaml =
      chosen_yaml(spec_of("training: {kimg: 7}\ngenerator: {optimizer: {sgd: {}}}"));
  EXPECT_NE(yaml.find("\n  kimg: 7\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("\n  optimizer:\n    sgd:\n"), std::string::npos) << yaml;
  EXPECT_EQ(yaml.find("  batch:"), std::string::npos) << yaml;
  EXPECT_LT(std::ranges::count(yaml, '\n'), 20) << yaml;
}

TEST(JobYaml, KeepsEveryBitOfEveryNumber) {
  std::mt19937_64 random(7);  // fixed seed: the same numbers each time
  std::uniform_real_distribution<double> exponent(-300.0, 8.0);
  for (int draw = 0; draw < 200; ++draw) {
    JobSpec spec = spec_of("");
    spec.training.kimg = std::pow(10.0, exponent(random));
    spec.network("generator").optimizer.lr = std::pow(10.0, exponent(random));
    EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  }
}

}  // namespace
}  // namespace gangway
