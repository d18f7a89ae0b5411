// SPDX-License-Identifier: MIT
// The check for a quiet machine, child processes, temporary folders.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/process/child.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "run/line_rate.hpp"

namespace gangway::launch {
namespace {

TEST(BusyShare, CountsAllButIdleAndWaitingForDisks) {
  EXPECT_DOUBLE_EQ(busy_share("cpu  10 0 10 100 20 0 0 0 0 0", "cpu  20 0 20 160 40 0 0 0 0 0"),
                   0.2);
  EXPECT_DOUBLE_EQ(busy_share("cpu  0 0 0 0 0 0 0 0", "cpu  0 0 0 50 0 0 0 50"), 0.5)
      << "stolen is used";
}

TEST(BusyShare, IsNothingWhereNothingIsKnown) {
  EXPECT_EQ(busy_share("", ""), 0.0);
  EXPECT_EQ(busy_share("cpu  1 1 1 1", "cpu  1 1 1 1"), 0.0);
}

TEST(Child, GivesItsExitCode) {
  EXPECT_EQ(run_child({"true"}), 0);
  EXPECT_EQ(run_child({"sh", "-c", "exit 6"}), 6);
  EXPECT_EQ(run_child({"sh", "-c", "kill -TERM $$"}), 128 + 15);
}

TEST(Child, SaysThatAProgramIsMissing) {
  EXPECT_THROW((void)run_child({"no-such-program"}), EnvironmentError);
}

TEST(Child, IsEndedWhereItIsStoppedAndNobodyWakesIt) {
  EXPECT_THROW((void)output_of_child({"sh", "-c", "kill -STOP $$"}), EnvironmentError);
}

TEST(Child, IsNotStartedOnceASignalWasNoted) {
  EXPECT_EXIT(
      {
        const EndRequests requests;
        (void)std::raise(SIGTERM);
        try {
          (void)output_of_child({"sh", "-c", "exit 6"});
        } catch (const SignalledError& error) {
          std::exit(static_cast<int>(error.code()));
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(Child, IsKilledWhereItIgnoresTheSignalToEnd) {
  EXPECT_EXIT(
      {
        const auto begin = std::chrono::steady_clock::now();
        try {
          (void)output_of_child({"sh", "-c", "trap '' TERM; kill -TERM $PPID; exec sleep 40"});
        } catch (const SignalledError& error) {
          std::exit(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)
                        ? static_cast<int>(error.code())
                        : 0);
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(Child, HasALimitAndGivesItsOutput) {
  const ChildOutput quick =
      output_within(std::chrono::seconds(60), {"sh", "-c", "echo a b; exit 6"});
  EXPECT_EQ(quick.code, 6);
  EXPECT_EQ(quick.text, "a b\n");
  // One outside the child's group keeps the pipe open.
  const ChildOutput late =
      output_within(std::chrono::seconds(1),
                    {"sh", "-c", "setsid sh -c 'echo $$; exec sleep 600' & exec sleep 600"});
  EXPECT_EQ(late.code, kTookTooLong);
  EXPECT_EQ(::kill(std::stoi(late.text), SIGKILL), 0);
}

TEST(Child, IsToldNothingThatThisProcessIgnores) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // nohup
  const ChildOutput output = output_of_child({"sh", "-c", "kill -HUP $PPID; kill -HUP $$; exit 6"});
  (void)std::signal(SIGHUP, before);
  EXPECT_EQ(output.code, 6);
}

TEST(TemporaryFolder, IsGoneWithItsOwner) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::ofstream(path / "file") << "content";
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LineRate, IsReadInPowersOfTen) {
  EXPECT_DOUBLE_EQ(parse_line_rate("1gbit"), 1.25e8);
  EXPECT_DOUBLE_EQ(parse_line_rate("100mbit"), 1.25e7);
  EXPECT_DOUBLE_EQ(parse_line_rate("64kbit"), 8e3);
  for (const char* text : {"", "1", "gbit", "0gbit", "1 gbit", "1GB", "-1gbit"}) {
    EXPECT_THROW((void)parse_line_rate(text), ConfigError) << text;
  }
}

}  // namespace
}  // namespace gangway::launch
