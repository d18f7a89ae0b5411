// SPDX-License-Identifier: MIT
#include "job/spec.hpp"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "job/models/recipes.hpp"

namespace gangway {
namespace {

TEST(JobSpec, RoundsTheNumberOfStepsUp) {
  JobSpec spec;
  spec.training.kimg = 1;
  spec.training.batch = 64;
  spec.network("discriminator").steps = 1;
  EXPECT_EQ(spec.total_steps(), 16);  // 1000 / 64 = 15.6
  spec.network("discriminator").steps = 5;
  EXPECT_EQ(spec.images_per_step(), 320);
  EXPECT_EQ(spec.total_steps(), 4);
}

TEST(JobSpec, TurnsKimgIntoAtLeastOneStep) {
  JobSpec spec;
  spec.training.batch = 64;
  EXPECT_EQ(spec.steps_of_kimg(0.0), 0);
  EXPECT_EQ(spec.steps_of_kimg(0.001), 1);
  EXPECT_EQ(spec.steps_of_kimg(6.4), 100);
}

TEST(JobSpec, CutsTheBatchIntoMicrobatches) {
  JobSpec spec;
  spec.training.batch = 64;
  spec.training.microbatches = 4;
  EXPECT_EQ(spec.images_per_microbatch(), 16);
}

TEST(JobSpec, ComputesPenaltiesInTf32BesideFewerBitsOnAGpuAlone) {
  using enum Precision;
  const auto chosen = [](DeviceKind device, Precision passes, std::optional<Precision> penalties) {
    JobSpec spec;
    spec.numerics.device = device;
    spec.numerics.penalties = penalties;
    spec.network("discriminator").precision = passes;
    EXPECT_EQ(spec.penalty_precision(spec.id_of("generator")), penalties.value_or(kFp32));
    return spec.penalty_precision(spec.id_of("discriminator"));
  };
  for (const Precision passes : {kTf32, kBf16, kFp16}) {
    EXPECT_EQ(chosen(DeviceKind::kCuda, passes, std::nullopt), kTf32);
    EXPECT_EQ(chosen(DeviceKind::kCpu, passes, std::nullopt), kFp32);
    EXPECT_EQ(chosen(DeviceKind::kCuda, passes, kFp32), kFp32);
  }
  EXPECT_EQ(chosen(DeviceKind::kCuda, kFp32, std::nullopt), kFp32);
  EXPECT_EQ(chosen(DeviceKind::kCuda, kFp32, kTf32), kTf32);
  EXPECT_EQ(chosen(DeviceKind::kCpu, kFp32, kBf16), kBf16);
}

TEST(JobSpec, ComputesTf32PenaltiesOnACpuInFp32) {
  JobSpec spec;
  spec.numerics.penalties = Precision::kTf32;
  EXPECT_EQ(spec.penalty_precision(spec.id_of("discriminator")), Precision::kFp32);
}

TEST(Recipes, HaveJudgesWhereThereIsAnAdversary) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_EQ(std::ranges::any_of(recipe.networks, judges, &RecipeNetwork::role),
              recipe.is_adversarial)
        << recipe.name;
    for (const RecipeNetwork& network : recipe.networks) {
      EXPECT_EQ(judges(network.role), network.name.starts_with("discriminator")) << network.name;
    }
  }
}

}  // namespace
}  // namespace gangway
