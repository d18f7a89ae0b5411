// SPDX-License-Identifier: MIT
#include "bench/command/overlap_figures.hpp"

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::bench {
namespace {

std::string tick(int step, double seconds, double exposed_percent, double sent_mib) {
  return "{\"step\": " + std::to_string(step) + ", \"seconds_tick\": " + std::to_string(seconds) +
         ", \"exposed_percent\": " + std::to_string(exposed_percent) +
         ", \"sent_mib_per_step\": " + std::to_string(sent_mib) + "}\n";
}

TEST(StepFigures, LeaveTheWarmUpOut) {
  const StepFigures figures = step_figures(tick(4, 99.0, 99.0, 99.0) + tick(8, 4.0, 25.0, 2.0) +
                                               tick(12, 8.0, 50.0, 2.0) + tick(16, 4.0, 25.0, 2.0),
                                           4);
  EXPECT_DOUBLE_EQ(figures.seconds, 1.0);  // the median
  EXPECT_DOUBLE_EQ(figures.exposed_seconds, (1.0 + 4.0 + 1.0) / 12.0);
  EXPECT_DOUBLE_EQ(figures.sent_bytes, 2.0 * 1048576.0);
}

TEST(StepFigures, RefuseARunThatIsTooShortAndALineThatIsNoTick) {
  EXPECT_THROW((void)step_figures(tick(4, 1.0, 0.0, 0.0), 4), EnvironmentError);
  EXPECT_THROW((void)step_figures("{\"step\": 4}\n", 0), EnvironmentError);
  EXPECT_THROW((void)step_figures("not JSON\n", 0), EnvironmentError);
}

}  // namespace
}  // namespace gangway::bench
