// SPDX-License-Identifier: MIT
#include "run/trace_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

TEST(ParseTraceSteps, TakesTheFirstStepAndTheOneAfterTheLast) {
  EXPECT_EQ(parse_trace_steps("100:110"), (TraceSteps{100, 110}));
  EXPECT_EQ(parse_trace_steps("0:1"), (TraceSteps{0, 1}));
  EXPECT_EQ(parse_trace_steps("0:1,memory,shapes"),
            (TraceSteps{0, 1, {.shapes = true, .memory = true}}));
  EXPECT_EQ(parse_trace_steps("0:1,kernels"), (TraceSteps{0, 1, {.kernels = true}}));
  EXPECT_TRUE(parse_trace_steps("").empty());
}

TEST(ParseTraceSteps, RefusesAnythingElseInOneLineThatShowsTheForm) {
  for (const char* text : {"5", "5:5", "7:3", ":3", "3:", "-1:3", "1:2:3", "a:b", "1: 2",
                           "1:99999999999999999999", "1:2,shape", "1:2,,memory", "shapes"}) {
    try {
      (void)parse_trace_steps(text);
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("--trace 100:110")) << text;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace gangway
