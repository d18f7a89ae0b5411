// SPDX-License-Identifier: MIT
#include "launch/process/measuring_progress.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::launch {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

class MeasuringProgressTest : public ::testing::Test {
 protected:
  MeasuringProgress::Clock clock() {
    return [this] { return now_; };
  }

  steady_clock::time_point now_;
  std::ostringstream out_;
};

TEST_F(MeasuringProgressTest, SaysInLinesHowLongItStillTakes) {
  MeasuringProgress progress(out_, 0, 40.0, clock());
  progress.advance(0.0, "one worker");
  EXPECT_EQ(out_.str(), "measures   0 %: one worker\n") << "nothing is known yet";
  now_ += seconds(30);
  progress.advance(10.0, "two workers");
  EXPECT_THAT(out_.str(), HasSubstr("measures  25 %: two workers, 1m 30s left\n"));
  progress.advance(1.0, "three workers");
  EXPECT_THAT(out_.str(), Not(HasSubstr("three"))) << "not a line for every bit of it";
  progress.advance_to(40.0, "the end");
  EXPECT_THAT(out_.str(), HasSubstr("measures 100 %: the end, 0s left\n"));
}

TEST_F(MeasuringProgressTest, DrawsOneLineOnATerminalAndRemovesIt) {
  MeasuringProgress progress(out_, 80, 4.0, clock());
  progress.advance(0.0, "one worker");
  now_ += seconds(1);
  progress.advance(1.0, "two workers");
  EXPECT_THAT(out_.str(), HasSubstr(" 25% two workers, 3s left"));
  progress.finish();
  EXPECT_THAT(out_.str(), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace gangway::launch
