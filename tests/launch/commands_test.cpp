// SPDX-License-Identifier: MIT
#include "launch/commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

using ::testing::HasSubstr;

/// Returns the command's output; its exit code must be 0.
std::string output_of(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_command_line(gangway_commands(), arguments, {}), 0);
  return ::testing::internal::GetCapturedStdout();
}

std::string complaint_about(const std::vector<std::string>& arguments) {
  try {
    (void)run_command_line(gangway_commands(), arguments, {});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(CommandLine, HelpsWithEveryCommand) {
  EXPECT_THAT(output_of({"gangway", "--help"}), HasSubstr("Examples:"));
  for (const char* command : {"run", "train", "digest", "checkpoints"}) {
    EXPECT_THAT(output_of({"gangway", command, "--help"}), HasSubstr("Example")) << command;
  }
  EXPECT_THAT(output_of({"gangway", "run", "--help"}),
              ::testing::AnyOf(HasSubstr("=auto"), HasSubstr("[auto]")))
      << "CLI11 2.3 and 2.4 show defaults";
}

TEST(CommandLine, ComplainsInOneLineThatNamesTheHelp) {
  EXPECT_THAT(complaint_about({"gangway"}), HasSubstr("see 'gangway --help'"));
  EXPECT_THAT(complaint_about({"gangway", "rnu"}), HasSubstr("did you mean 'run'"));
  EXPECT_THAT(complaint_about({"gangway", "run"}), HasSubstr("see 'gangway run --help'"));
  EXPECT_THAT(complaint_about({"gangway", "run", "j.yaml", "--nope"}), HasSubstr("--nope"));
  EXPECT_THAT(complaint_about({"gangway", "run", "j.yaml", "-n", "0"}),
              HasSubstr("see 'gangway run --help'"));
  EXPECT_THAT(complaint_about({"gangway", "run", "j.yaml", "--progress", "sparkles"}),
              HasSubstr("sparkles"));
}

TEST(CommandLine, DescribesAJobWithoutRunningIt) {
  const std::string text = output_of(
      {"gangway", "run", "examples/ring8.yaml", "--dry-run", "-n", "2", "training.kimg=80"});
  EXPECT_THAT(text, HasSubstr("kimg: 80"));
  EXPECT_THAT(text, HasSubstr("coordinator"));
  EXPECT_THAT(text, HasSubstr("Memory"));
}

TEST(CommandLine, ReportsAllProblemsOfAJobAtOnce) {
  const std::string complaint = complaint_about(
      {"gangway", "run", "examples/ring8.yaml", "training.kmg=80", "training.batch=none"});
  EXPECT_THAT(complaint, HasSubstr("did you mean 'training.kimg'"));
  EXPECT_THAT(complaint, HasSubstr("training.batch"));
}

TEST(CommandLine, RefusesMoreWorkersThanMicrobatches) {
  EXPECT_THAT(complaint_about({"gangway", "run", "examples/ring8.yaml", "-n", "9"}),
              HasSubstr("9 workers"));
}

}  // namespace
}  // namespace gangway::launch
