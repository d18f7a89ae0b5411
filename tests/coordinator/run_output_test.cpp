// SPDX-License-Identifier: MIT
#include "coordinator/io/run_output.hpp"

#include <future>
#include <ostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

using gangway::testing::ScratchFolder;
using ::testing::HasSubstr;

/// A terminal that accepts no output until it is released.
class SlowTerminal : public std::stringbuf {
 public:
  void take() { takes_.set_value(); }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    may_go_on_.wait();
    return std::stringbuf::xsputn(text, count);
  }

 private:
  std::promise<void> takes_;
  std::shared_future<void> may_go_on_ = takes_.get_future().share();
};

struct ShownRun {
  ScratchFolder folder;
  SlowTerminal terminal;
  std::ostream out{&terminal};

  ShownRun() { std::filesystem::create_directories(folder.path() / "logs"); }
  [[nodiscard]] std::string log() const { return folder.read("logs/rank-0000.log"); }
};

TEST(RunOutput, WaitsForNoTerminalAndKeepsTheOrder) {
  ShownRun run;
  {
    RunOutput output(run.folder.path(), {.host = "here", .pid = 1},
                     {.out = run.out, .err = run.out});
    for (int i = 0; i < 3; ++i) {
      output.print("line " + std::to_string(i));  // returns at once
    }
    output.print_error("error\n");
    output.log("for the log");
    run.terminal.take();
  }  // waits for the whole output
  EXPECT_EQ(run.terminal.str(), "line 0\nline 1\nline 2\nerror\n");
  EXPECT_THAT(run.log(), HasSubstr("line 2"));
  EXPECT_THAT(run.log(), HasSubstr("for the log"));
}

TEST(RunOutput, WarnsOnceOfWhatCannotBeWritten) {
  ShownRun run;
  run.terminal.take();
  {
    RunOutput output(run.folder.path(), {}, {.out = run.out, .err = run.out});
    for (int i = 0; i < 2; ++i) {
      output.write("a.json", [] { throw EnvironmentError("no space"); });
    }
    output.write("b.json", [] { throw std::system_error(ENOSPC, std::generic_category()); });
  }
  EXPECT_EQ(run.terminal.str(),
            "warn  a.json cannot be written: no space\n"
            "warn  b.json cannot be written: No space left on device\n");
}

TEST(RunOutput, RecordsTicksWithoutThoseThatAreTrainedAgain) {
  ShownRun run;
  run.terminal.take();
  for (const std::int64_t resumed : {0, 10}) {
    RunOutput output(run.folder.path(), {}, {.out = run.out, .err = run.out});
    const auto last = output.begin_at(resumed);
    EXPECT_EQ(last.has_value(), resumed > 0);
    for (std::int64_t step = resumed + 10; step <= 20; step += 10) {
      output.show_tick({.index = step / 10, .step = step}, 0.0, "");
    }
  }
  std::istringstream lines(run.folder.read("stats.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST(RunOutput, DrawsTextsInTensorboard) {
  ShownRun run;
  run.terminal.take();
  {
    RunOutput output(run.folder.path(), {.host = "here", .pid = 1},
                     {.out = run.out, .err = run.out});
    (void)output.begin_at(0);
    output.add_text("Events", "goes on with 3 workers", 7);
  }
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(run.folder.path())) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      events += run.folder.read(entry.path().filename().string());
    }
  }
  EXPECT_THAT(events, HasSubstr("goes on with 3 workers"));
  EXPECT_EQ(run.terminal.str(), "");
}

}  // namespace
}  // namespace gangway::coordinator
