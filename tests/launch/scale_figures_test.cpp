// SPDX-License-Identifier: MIT
#include "launch/scale/scale_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::launch {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

ScaleRow row(int workers, double seconds) {
  return {.workers = workers, .images_per_step = 100.0, .steps = {seconds}};
}

TEST(ScalingFit, FindsAmdahlsSerialShare) {
  const ScalingFit fit =
      fit_scaling(ScalingKind::kStrong, {row(1, 1.0), row(2, 0.55), row(4, 0.325)});
  EXPECT_NEAR(fit.fixed, 0.1, 1e-9);
  EXPECT_NEAR(fit.varying, 0.9, 1e-9);
  EXPECT_NEAR(fit.serial_share(), 0.1, 1e-9);
  EXPECT_NEAR(fit.seconds(ScalingKind::kStrong, 9), 0.2, 1e-9);
}

TEST(ScalingFit, FindsWhatEachWorkerMoreCosts) {
  const ScalingFit fit = fit_scaling(ScalingKind::kWeak, {row(1, 1.0), row(2, 1.1), row(4, 1.3)});
  EXPECT_NEAR(fit.fixed, 1.0, 1e-9);
  EXPECT_NEAR(fit.varying, 0.1, 1e-9);
}

TEST(ScalingFit, IsNotSerialBelowNothingAndTakesOneRow) {
  const ScalingFit faster = fit_scaling(ScalingKind::kStrong, {row(1, 1.0), row(2, 0.4)});
  EXPECT_DOUBLE_EQ(faster.fixed, 0.0);
  EXPECT_GT(faster.varying, 0.8);
  const ScalingFit one = fit_scaling(ScalingKind::kStrong, {row(1, 1.0)});
  EXPECT_DOUBLE_EQ(one.seconds(ScalingKind::kStrong, 1), 1.0);
}

TEST(ScaleText, SetsMeasurementBesidePredictionAndWhatIsPossible) {
  ScaleRow one = row(1, 1.0);
  ScaleRow two = row(2, 0.625);
  two.steps = {0.625, 0.6, 0.65};
  two.predicted = 0.65;
  two.ceilings = {0.6, 0.6, 0.6};
  const std::string text = scale_text(ScalingKind::kStrong, {one, two});
  EXPECT_THAT(text, HasSubstr("strong scaling"));
  EXPECT_THAT(text, ContainsRegex("2 +625.00 +4.0 % +160.0 +650.00 +\\+4.0 % +500.00 +625.00 +"
                                  "80.0 % +600.00 +96.0 %"));
  EXPECT_THAT(text, HasSubstr("Amdahl: 25.0 % of one worker's step is serial; no number of workers "
                              "is faster than 4.0 times one"));
  EXPECT_THAT(scale_text(ScalingKind::kWeak, {one, row(2, 1.1)}),
              HasSubstr("each worker more costs 100.00 ms a step"));
}

}  // namespace
}  // namespace gangway::launch
