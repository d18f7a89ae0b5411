// SPDX-License-Identifier: MIT
// Whatever is lost, and when: world/world_test.cpp.
#include "launch/run/supervision.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "base/system/start_child.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;

class SupervisionTest : public ::testing::Test {
 protected:
  void lead() { supervision_.watch().settled(Rank(0)); }

  Supervision::TimePoint now_{std::chrono::hours(1)};
  Supervision supervision_{2, /*goes_on=*/false, now_, {}};
};

TEST_F(SupervisionTest, PassesNoSignalOnToAJobThatDoesNotListenYet) {
  EXPECT_EQ(supervision_.on_signal(SIGUSR2, now_).to_mpirun, 0);
  EXPECT_EQ(supervision_.on_signal(SIGTERM, now_).to_mpirun, 0);
}

TEST_F(SupervisionTest, MakesEveryRequestToLeaveASaveOnce) {
  lead();
  EXPECT_EQ(supervision_.on_signal(SIGUSR2, now_).to_mpirun, SIGUSR2);
  EXPECT_EQ(supervision_.on_signal(SIGHUP, now_).to_mpirun, SIGUSR1);
  EXPECT_EQ(supervision_.on_signal(SIGTERM, now_).to_mpirun, 0);
}

TEST_F(SupervisionTest, EndsTheJobItselfSomeTimeAfterASecondCtrlC) {
  lead();
  EXPECT_TRUE(supervision_.on_signal(SIGINT, now_).tells_how);
  EXPECT_TRUE(supervision_.on_signal(SIGINT, now_).ends_now);
  EXPECT_FALSE(supervision_.check(now_ + milliseconds(1'000), [] {}));
  EXPECT_TRUE(supervision_.check(now_ + milliseconds(1'501), [] {}));
  EXPECT_EQ(supervision_.finish(std::nullopt, SIGTERM).end.exit_code, 130);
}

TEST_F(SupervisionTest, TellsACtrlCWhoseSaveFailedFromOtherSignals) {
  lead();
  EXPECT_EQ(supervision_.finish(RunEnd{.exit_code = 143}, 0).end.exit_code, 143);
  (void)supervision_.on_signal(SIGINT, now_);
  EXPECT_EQ(supervision_.finish(RunEnd{.exit_code = 143}, 0).end.exit_code, 130);
  EXPECT_EQ(supervision_.finish(RunEnd{.exit_code = 75}, 0).end.exit_code, 75);
}

TEST_F(SupervisionTest, NamesAMpirunThatWasNotFound) {
  EXPECT_THROW((void)supervision_.finish(std::nullopt, kProgramNotFound << 8), EnvironmentError);
}

TEST_F(SupervisionTest, NamesAMpirunThatDiedAndTellsHowToGoOn) {
  const auto finished = supervision_.finish(std::nullopt, SIGKILL);
  EXPECT_EQ(finished.end.exit_code, 3);
  EXPECT_EQ(finished.word.line, "mpirun was killed by signal 9");
  EXPECT_TRUE(finished.word.tells_command);
}

TEST_F(SupervisionTest, TakesTheJobsOwnWordFirst) {
  lead();
  supervision_.watch().gone(Rank(0), now_);
  const auto ending =
      supervision_.check(now_ + milliseconds(2'000), [&] { supervision_.watch().ended(75, now_); });
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->word.line, "");
  EXPECT_EQ(supervision_.finish(RunEnd{.exit_code = 75, .reason = "saved"}, 0).end.reason, "saved");
}

}  // namespace
}  // namespace gangway::launch
