// SPDX-License-Identifier: MIT
#include <csignal>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "report/failure_box.hpp"
#include "report/progress_bar.hpp"
#include "report/table.hpp"

namespace gangway::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Failure killed() {
  return {
      .rank = Rank(2),
      .host = "node7",
      .pid = 4711,
      .signal = SIGKILL,
      .exit_code = std::nullopt,
      .job_exit_code = 3,
      .reason = "rank 2 was lost",
      .time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123)),
      .step = 340,
      .log_file = "logs/rank-0002.log",
      .last_checkpoint = "checkpoints/step-00000300",
      .resume_command = "gangway run job.yaml -n 2 --run " + std::string(80, 'x')};
}

TEST(FailureBox, NamesTheRootCauseAndTheWayOn) {
  const std::string box = failure_box(killed());
  for (const char* part :
       {"rank 2 was lost", "2 on node7, pid 4711", "killed by SIGKILL", "2023-11-14T22:13:20.123Z",
        "logs/rank-0002.log", "checkpoints/step-00000300", "gangway run job.yaml"}) {
    EXPECT_THAT(box, HasSubstr(part));
  }
}

TEST(FailureBox, HasLinesOfOneWidth) {
  std::istringstream lines(failure_box(killed()));
  std::set<std::size_t> widths;
  for (std::string line; std::getline(lines, line);) {
    widths.insert(line.size());
  }
  EXPECT_EQ(widths.size(), 1U);
}

TEST(FailureBox, SaysWhatIsNotKnown) {
  Failure failure = killed();
  failure.signal.reset();
  EXPECT_THAT(failure_box(failure), HasSubstr("cause unknown"));
  failure.exit_code = 4;
  failure.log_file.clear();
  failure.last_checkpoint.clear();
  failure.resume_command.clear();
  const std::string box = failure_box(failure);
  EXPECT_THAT(box, HasSubstr("exit code 4"));
  EXPECT_THAT(box, HasSubstr("none yet"));
}

TEST(FailureBox, SaysOfADivergenceThatNoProcessFailedAndWhatToChange) {
  Failure failure = killed();
  failure.signal.reset();
  failure.job_exit_code = 4;
  failure.change = " training.divergence.policy=rollback";
  const std::string box = failure_box(failure);
  EXPECT_THAT(box, HasSubstr("the training itself: no process failed"));
  EXPECT_THAT(box, Not(HasSubstr("cause unknown")));
  EXPECT_THAT(box, Not(HasSubstr("to resume")));
  EXPECT_THAT(box, HasSubstr("with a change"));
  const auto object = nlohmann::json::parse(failure_json(failure));
  EXPECT_EQ(object["resume_command"], failure.resume_command + failure.change);
}

TEST(FailureJson, HoldsTheSameWithNullForTheUnknown) {
  Failure failure = killed();
  failure.last_checkpoint.clear();
  const std::string text = failure_json(failure);
  EXPECT_THAT(text, EndsWith("}\n"));
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["rank"], 2);
  EXPECT_EQ(object["signal"], "SIGKILL");
  EXPECT_TRUE(object["exit_code"].is_null());
  EXPECT_EQ(object["job_exit_code"], 3);
  EXPECT_EQ(object["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_TRUE(object["last_checkpoint"].is_null());
}

TEST(FailureJson, SurvivesBytesThatAreNotUtf8) {
  Failure failure = killed();
  failure.reason = "bad \xff byte";
  EXPECT_EQ(nlohmann::json::parse(failure_json(failure))["reason"],
            "bad \xef\xbf\xbd byte");  // U+FFFD
}

TEST(SignalName, FallsBackToTheNumber) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(1000), "signal 1000");
}

TEST(Table, AlignsItsColumns) {
  Table table({{"rank", Align::kRight}, {"host"}, {"role"}});
  table.add_row({"0", "node-long-name", "coordinator"});
  table.add_row({"12", "b", ""});
  EXPECT_EQ(table.text(),
            "rank  host            role\n"
            "----  --------------  -----------\n"
            "   0  node-long-name  coordinator\n"
            "  12  b\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table({{"rank"}, {"host"}});
  EXPECT_THROW(table.add_row({"0"}), InvariantError);
}

TEST(ProgressLine, FillsFromLeftToRightWithinTheWidth) {
  EXPECT_EQ(progress_line(0.5, "text", 100), "[###############...............]  50% text");
  EXPECT_EQ(progress_line(7, "text", 100), "[##############################] 100% text");
  EXPECT_EQ(progress_line(-1, "text", 20), "[...................");
}

TEST(ProgressBar, DrawsOverItselfAndLeavesNothing) {
  std::ostringstream terminal;
  ProgressBar bar(terminal, 80);
  bar.clear();
  EXPECT_EQ(terminal.str(), "");
  bar.draw(0.5, "half");
  bar.clear();
  EXPECT_EQ(terminal.str(), "\r[###############...............]  50% half\x1b[K\r\x1b[K");
}

}  // namespace
}  // namespace gangway::report
