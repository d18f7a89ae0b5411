// SPDX-License-Identifier: MIT
#include "report/run_view/run_view.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/run_view/step_timeline.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

namespace fs = std::filesystem;
using gangway::testing::ScratchFolder;
using nlohmann::ordered_json;
using ::testing::ElementsAre;

void write_text(const fs::path& path, std::string_view text, std::ios::openmode mode = {}) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | mode) << text;
}

void append_text(const fs::path& path, std::string_view text) {
  write_text(path, text, std::ios::app);
}

std::string tick_text(int step, double loss) {
  return fmt::format(
      R"({{"tick":{0},"step":{0},"kimg":{1},"images_per_second":100.0,"seconds_total":{0},)"
      R"("exposed":{{"discriminator":{{"seconds":0.5}}}},"generator_loss":{2}}})"
      "\n",
      step, step * 0.064, loss);
}

/// The first bytes of a PNG of that size: the part that RunView reads.
std::string png_head(unsigned char width, unsigned char height) {
  std::string head("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0", 19);
  head += static_cast<char>(width);
  head += std::string(3, '\0');
  head += static_cast<char>(height);
  return head;
}

class RunViewTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] ordered_json document() const { return RunView(folder_.path()).document(); }

  ScratchFolder folder_;
};

TEST_F(RunViewTest, ShowsARunThatFailedInItsFirstSecond) {
  write_text(file("status.json"), R"({"exit_code": 6, "reason": "no such device"})");
  write_text(file("error.json"), R"({"rank": 1, "host": "b"})");
  const ordered_json view = document();
  EXPECT_EQ(view["run"]["state"], "failed");
  EXPECT_EQ(view["run"]["reason"], "no such device");
  EXPECT_EQ(view["run"]["error"]["host"], "b");
  EXPECT_TRUE(view["ticks"].empty());
  EXPECT_TRUE(view["timeline"].is_null());
  EXPECT_TRUE(view["progress"]["kimg"].is_null());
}

TEST_F(RunViewTest, SaysHowARunEndedByItsExitCode) {
  for (const auto& [code, state] :
       {std::pair{0, "finished"}, {75, "stopped"}, {143, "stopped"}, {4, "failed"}}) {
    write_text(file("status.json"), fmt::format(R"({{"exit_code": {}, "reason": ""}})", code));
    EXPECT_EQ(document()["run"]["state"], state);
  }
}

TEST_F(RunViewTest, ShowsAnEmptyFolderAndOneThatIsNotThere) {
  EXPECT_EQ(document()["run"]["state"], "unknown");
  EXPECT_EQ(RunView(file("nowhere")).document()["num_ticks"], 0);
}

TEST_F(RunViewTest, LeavesTornAndForeignLinesOut) {
  write_text(file("stats.jsonl"), tick_text(1, 0.5) + "{\"tick\": 2, \"st\n[1]\nnull\n" +
                                      tick_text(3, 0.25) + R"({"tick": 4, "step": 4, "kimg")");
  const ordered_json view = document();
  EXPECT_THAT(view["ticks"]["step"], ElementsAre(1, 3));
  EXPECT_EQ(view["damaged_lines"], 3);
  EXPECT_THAT(view["ticks"]["exposed.discriminator"], ElementsAre(0.5, 0.5));
}

TEST_F(RunViewTest, ReadsOnWhereItStopped) {
  RunView view(folder_.path());
  write_text(file("stats.jsonl"), tick_text(1, 0.5) + "{\"tick\":2,\"step\":2,");
  EXPECT_EQ(view.document()["num_ticks"], 1);
  append_text(file("stats.jsonl"), "\"kimg\":0.128}\n");
  const ordered_json then = view.document();
  EXPECT_THAT(then["ticks"]["step"], ElementsAre(1, 2));
  EXPECT_THAT(then["ticks"]["generator_loss"], ElementsAre(0.5, nullptr));
}

TEST_F(RunViewTest, ForgetsStepsThatAreTrainedAgain) {
  RunView view(folder_.path());
  write_text(file("stats.jsonl"), tick_text(1, 0.5) + tick_text(2, 0.5) + tick_text(3, 0.5));
  EXPECT_EQ(view.document()["num_ticks"], 3);
  // A resume truncates the file after the first tick; in the end the file is longer than before.
  std::string again = tick_text(1, 0.5);
  for (int step = 2; step < 6; ++step) {
    again += tick_text(step, 0.125);
  }
  write_text(file("stats.jsonl"), again);
  EXPECT_THAT(view.document()["ticks"]["generator_loss"],
              ElementsAre(0.5, 0.125, 0.125, 0.125, 0.125));
}

TEST_F(RunViewTest, LosesNoSpikeOfALongRun) {
  std::string lines;
  for (int step = 1; step <= 50'000; ++step) {
    lines += tick_text(step, step == 31'415 ? 99.0 : step == 2'718 ? -99.0 : 1.0);
  }
  write_text(file("stats.jsonl"), lines);
  const ordered_json view = document();
  const auto losses = view["ticks"]["generator_loss"].get<std::vector<double>>();
  EXPECT_EQ(losses.size(), 2000U);
  EXPECT_THAT(losses, ::testing::Contains(99.0));
  EXPECT_THAT(losses, ::testing::Contains(-99.0));
  const auto steps = view["ticks"]["step"].get<std::vector<int>>();
  EXPECT_TRUE(std::ranges::is_sorted(steps));
  EXPECT_EQ(steps.front(), 1);
  EXPECT_EQ(steps.back(), 50'000);
  EXPECT_EQ(view["num_ticks"], 50'000);
}

TEST_F(RunViewTest, TellsEventsScoresAndPicturesOfTheLog) {
  const std::string head = "2026-11-23T17:37:37.500 [rank 0] [8353] info: ";
  write_text(file("logs/rank-0000.log"),
             head + "gangway 0.1.0  run /r\n" + head + "tick 1     kimg 0.4\n" + "----  ----\n" +
                 head + "score  step 120  FD-LeNet 6.8100  best\n" + head +
                 "warn  <script> is no name\n" + head + "picture fakes000010.png of step 157\n");
  write_text(file("fakes000010.png"), png_head(64, 32));
  write_text(file("fakes_init.png"), png_head(64, 32));
  write_text(file("reals.png"), png_head(64, 32));
  write_text(file("fakes000020.png"), "not yet whole");
  write_text(file("fakesx.png"), png_head(1, 1));
  const ordered_json view = document();
  std::vector<std::string> kinds;
  for (const ordered_json& event : view["events"]) {
    kinds.push_back(event["kind"]);
  }
  EXPECT_THAT(kinds, ElementsAre("start", "score", "warning", "picture"));
  EXPECT_EQ(view["scores"][0]["metric"], "FD-LeNet");
  EXPECT_EQ(view["scores"][0]["points"][0]["value"], 6.81);
  ASSERT_EQ(view["pictures"].size(), 3U);
  EXPECT_EQ(view["pictures"][0]["kind"], "reals");
  EXPECT_EQ(view["pictures"][1]["kimg"], 0.0);
  EXPECT_EQ(view["pictures"][2]["step"], 157);
  EXPECT_EQ(view["pictures"][2]["width"], 64);
  EXPECT_EQ(view["log"].size(), 6U);
}

TEST_F(RunViewTest, TellsTheKeysOfAJobByTheirWholeNames) {
  write_text(file("job.yaml"),
             "training:\n  kimg: 1\n  batch: 64\ngenerator:\n  optimizer:\n    adam:\n      betas: "
             "[0.5, 0.999]\n");
  const ordered_json job = document()["job"];
  EXPECT_EQ(job["keys"]["generator.optimizer.adam.betas"], "[0.5, 0.999]");
  EXPECT_EQ(job["total_steps"], 16);
}

TEST_F(RunViewTest, TakesDamagedSmallFilesForNone) {
  for (const char* name : {"status.json", "placement.json", "error.json", "start.json", "job.yaml",
                           "decisions.jsonl", "trace/trace.json", "logs/rank-0000.log"}) {
    write_text(file(name), "{\"ranks\": [3, {\"rank\": ");
  }
  fs::create_directories(file("checkpoints/step-000000010"));
  const ordered_json view = document();
  EXPECT_TRUE(view["workers"].empty());
  ASSERT_EQ(view["checkpoints"].size(), 1U);
  EXPECT_EQ(view["checkpoints"][0]["status"], "damaged");
}

TEST_F(RunViewTest, DrawsTheMiddleStepOfATrace) {
  std::string text = "{\"traceEvents\":[\n";
  text += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"rank 1"}},)"
          "\n";
  text += R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"compute"}},)"
          "\n";
  for (int step = 7; step < 10; ++step) {
    text += fmt::format(
        R"({{"ph":"X","pid":1,"tid":1,"cat":"compute","name":"step {0}","ts":{1},"dur":100,"args":{{"step":{0}}}}},)"
        "\n"
        R"({{"ph":"X","pid":1,"tid":1,"cat":"compute","name":"forward of {0}","ts":{1},"dur":60,"args":{{}}}},)"
        "\n"
        R"({{"ph":"X","pid":1,"tid":2,"cat":"operator","name":"aten::conv2d","ts":{1},"dur":6}},)"
        "\n",
        step, step * 100);
  }
  write_text(file("trace/trace.json"), text + "]}\n");
  const ordered_json timeline = document()["timeline"];
  EXPECT_EQ(timeline["step"], 8);
  EXPECT_EQ(timeline["microseconds"], 100);
  ASSERT_EQ(timeline["ranks"][0]["rows"].size(), 1U);
  EXPECT_EQ(timeline["ranks"][0]["rows"][0]["name"], "compute");
  EXPECT_EQ(timeline["ranks"][0]["rows"][0]["spans"],
            ordered_json::parse(R"([[0.0, 60.0, "forward of 8", "compute"]])"));
}

}  // namespace
}  // namespace gangway::report
