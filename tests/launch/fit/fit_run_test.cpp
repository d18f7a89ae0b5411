// SPDX-License-Identifier: MIT
#include "launch/fit/fit_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

JobSpec job_of(const std::vector<std::string>& overrides) {
  return load_job({.file = "job.yaml",
                   .text = "model: {family: dcgan, resolution: 32, width: 32, latent: 100}\n"
                           "data: {source: fashion-mnist}\n"
                           "training: {kimg: 250, batch: 64, microbatches: 2}\n",
                   .overrides = overrides,
                   .environment = {}})
      .spec;
}

TEST(FitJob, HasAllThatTakesMemoryInAFewSteps) {
  const JobSpec job = job_of({"output.histograms_kimg=100"});
  const JobSpec fit = fit_job(job);
  EXPECT_EQ(fit.total_steps(), 5);
  EXPECT_EQ(fit.checkpoint.every_steps, 2);
  EXPECT_EQ(fit.checkpoint.snapshot_steps, 1);
  EXPECT_GT(fit.output.histograms_kimg, 0.0);
  EXPECT_LT(fit.output.histograms_kimg, 1.0);
  EXPECT_EQ(fit.training.batch, job.training.batch);
  EXPECT_EQ(fit_job(job_of({"checkpoint.snapshot_steps=0"})).checkpoint.snapshot_steps, 0);
}

TEST(FitJob, HasNetworksThatGrowAsLargeAsTheyBecome) {
  const JobSpec job =
      job_of({"model.family=progressive", "model.resolution=32", "model.channels=1"});
  ASSERT_LT(job.growth_level(0), 3.0);
  const JobSpec fit = fit_job(job);
  for (std::int64_t step = 1; step <= 5; ++step) {
    const double level = fit.growth_level(step * fit.images_per_step());
    EXPECT_GT(level, 2.0) << "16 pixels";
    EXPECT_LT(level, 3.0) << "32 pixels fade in beside them";
  }
}

constexpr const char* kOfTwo =
    "{\"step\": 1, \"memory_used_gib\": 5.0, \"memory_limit_gib\": 10.0, \"memory_limit\": "
    "\"host\", \"peak_gib\": 2.0, \"memory_by_rank\": {\"resident_gib\": [1.0, 1.5], "
    "\"peak_gib\": [2.0, 1.75]}}\n{\"step\": 2, \"scores\": 1}\n";

TEST(Fit, AddsUpWhatWorkersOfAHostHaveHad) {
  const Fit fit = fit_of(kOfTwo, 2, DeviceKind::kCpu);
  EXPECT_THAT(fit.peak_gib, ElementsAre(2.0, 1.75));
  EXPECT_DOUBLE_EQ(fit.most_used_gib, 5.0 + 1.0 + 0.25);
  EXPECT_TRUE(fit.fits());
  EXPECT_THAT(fit_text(fit, job_of({}), 469LL << 20U),
              AllOf(HasSubstr("   1    2048 MiB"), HasSubstr("   2    1792 MiB"),
                    HasSubstr("fits: 6.25 of 10.00 GiB of the host in use at the most\n"),
                    Not(HasSubstr("layout."))));
}

TEST(Fit, OfAGpuLooksAtTheWorkerThatHasHadMost) {
  const Fit fit = fit_of(
      "{\"memory_used_gib\": 8.0, \"memory_limit_gib\": 10.0, \"memory_limit\": \"GPU\", "
      "\"peak_gib\": 7.5, \"memory_by_rank\": {\"reserved_gib\": [6.0, 7.0], \"resident_gib\": [1, "
      "1], \"peak_gib\": [7.5, 7.5]}}\n",
      2, DeviceKind::kCuda);
  EXPECT_DOUBLE_EQ(fit.most_used_gib, 9.5);
  EXPECT_FALSE(fit.fits()) << "less than a tenth is left";
  EXPECT_THAT(
      fit_text(fit, job_of({}), 469LL << 20U),
      AllOf(HasSubstr("does not fit: 9.50 of 10.00 GiB of the GPU"),
            HasSubstr("no bit changes with layout.stages=2 and 4 workers; numbers do with ")));
}

TEST(Fit, ScalesTheEstimateToWhatWasMeasured) {
  Fit fit = fit_of(kOfTwo, 2, DeviceKind::kCpu);
  fit.limit_gib = 5.0;  // 6.25 in use, of which 2.5 by other programs
  ASSERT_FALSE(fit.fits());
  EXPECT_EQ(fitting_estimate(fit, 3750), 2000) << "4.5 less 2.5, of 3.75 that needed 3750";
  fit.limit_gib = 2.0;
  EXPECT_EQ(fitting_estimate(fit, 3750), 0) << "other programs leave nothing";
}

TEST(Fit, OfVeryManyWorkersSupposesThatAllAreAsTheOneThatHasHadMost) {
  const Fit fit = fit_of(
      "{\"memory_used_gib\": 50.0, \"memory_limit_gib\": 100.0, \"memory_limit\": \"host\", "
      "\"peak_gib\": 2.0, \"resident_gib\": 30.0}\n",
      20, DeviceKind::kCpu);
  EXPECT_EQ(fit.peak_gib.size(), 20U);
  EXPECT_NEAR(fit.most_used_gib, 60.0, 1e-9);
}

TEST(Fit, AddsNothingOfAGpuToWhatIsUsedOfTheHost) {
  const Fit fit = fit_of(
      "{\"memory_used_gib\": 50.0, \"memory_limit_gib\": 100.0, \"memory_limit\": \"host\", "
      "\"peak_gib\": 20.0, \"resident_gib\": 3.0}\n",
      1, DeviceKind::kCuda);
  EXPECT_DOUBLE_EQ(fit.most_used_gib, 50.0);
}

TEST(Fit, IsNotSaidWithoutFigures) {
  EXPECT_THROW((void)fit_of("", 1, DeviceKind::kCpu), EnvironmentError);
  EXPECT_THROW((void)fit_of("{\"peak_gib\": 0.0}\n", 1, DeviceKind::kCpu), EnvironmentError);
  const Fit unlimited = fit_of("{\"peak_gib\": 1.0, \"resident_gib\": 1.0}\n", 1, DeviceKind::kCpu);
  EXPECT_TRUE(unlimited.fits());
  EXPECT_THAT(fit_text(unlimited, job_of({}), 469LL << 20U), HasSubstr("no limit is known"));
}

}  // namespace
}  // namespace gangway::launch
