// SPDX-License-Identifier: MIT
#include "bench/command/overlap_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

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

TEST(OverlapTable, SaysWhatIsHiddenAndHowNearTheBoundIs) {
  const std::vector<OverlapRow> rows{
      {"mpi", "none", {{.seconds = 0.2, .exposed_seconds = 0.1, .sent_bytes = 2e6}}},
      {"mpi", "across", {{.seconds = 0.125, .exposed_seconds = 0.025, .sent_bytes = 2e6}}}};
  const std::string text =
      overlap_table(rows, {.compute_seconds = 0.1, .link_bytes_per_second = 1e7, .num_hosts = 2});
  EXPECT_THAT(text, ContainsRegex("mpi +none +200.00 +200.00 +100.00 +- +100.00 +100.00 +50 %"));
  EXPECT_THAT(text,
              ContainsRegex("mpi +across +125.00 +125.00 +25.00 +75 % +100.00 +100.00 +80 %"));
}

TEST(OverlapTable, TakesTheWireWhereItIsTheLarger) {
  const std::vector<OverlapRow> rows{
      {"mpi", "across", {{.seconds = 0.5, .exposed_seconds = 0.0, .sent_bytes = 4e6}}}};
  EXPECT_THAT(
      overlap_table(rows, {.compute_seconds = 0.1, .link_bytes_per_second = 1e7, .num_hosts = 1}),
      ContainsRegex("- +100.00 +400.00 +80 %"));
  EXPECT_THAT(overlap_table(rows, {.compute_seconds = 0.1}),
              ContainsRegex("- +100.00 +0.00 +20 %"));
}

}  // namespace
}  // namespace gangway::bench
