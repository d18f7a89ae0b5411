// SPDX-License-Identifier: MIT
#include "launch/tune/trial.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

using ::testing::HasSubstr;

constexpr const char* kStats =
    "{\"step\": 4, \"seconds_tick\": 40, \"parts\": {\"data\": 10}}\n"
    "{\"step\": 6, \"seconds_tick\": 2, \"parts\": {\"data\": 0.25, \"g_forward\": 0.75}}\n"
    "{\"score\": 1}\n"
    "{\"step\": 12, \"seconds_tick\": 12, \"parts\": {\"data\": 0.5, \"g_forward\": 1.5}}\n"
    "{\"step\": 16, \"sec";

TEST(TrialRun, IsTheMeanOfStepsBehindTheWarmUp) {
  const TrialRun run = trial_run(kStats, 16);
  EXPECT_DOUBLE_EQ(run.seconds, 14.0 / 8.0);
  EXPECT_DOUBLE_EQ(run.parts.at("data"), (0.25 * 2 + 0.5 * 6) / 8.0);
}

TEST(TrialRun, HasTheGpusPartsWhereThereIsOne) {
  const TrialRun run = trial_run(
      "{\"step\": 4, \"seconds_tick\": 4, \"parts\": {\"device\": 1}}\n"
      "{\"step\": 8, \"seconds_tick\": 4, \"parts\": {\"device\": 1}, \"device_parts\": "
      "{\"data\": 0.25}}\n"
      "{\"step\": 16, \"seconds_tick\": 8, \"parts\": {\"device\": 1}}\n",
      16);
  EXPECT_EQ(run.parts, (std::map<std::string, double>{{"data", 0.25}}));
}

TEST(TrialRun, RefusesARunThatTellsNothing) {
  EXPECT_THROW((void)trial_run("{\"step\": 4}\n", 16), EnvironmentError);
}

TEST(Trial, KnowsTheShareOfParts) {
  Trial trial;
  trial.runs.push_back({.steps = 16, .seconds = 1, .parts = {{"data", 1}, {"g_forward", 3}}});
  EXPECT_DOUBLE_EQ(trial.share({"data", "device"}), 0.25);
}

/// A trial whose runs took so many seconds a step.
Trial trial_of(std::vector<std::string> keys, std::initializer_list<double> seconds) {
  Trial trial{.name = std::to_string(keys.size()), .keys = std::move(keys)};
  for (const double one : seconds) {
    trial.runs.push_back({.steps = 12, .seconds = one, .parts = {}});
  }
  return trial;
}

TEST(Trial, ComparesAsItsRunsDoWhateverATurnWasBesetWith) {
  const Trial slow = trial_of({}, {1.1, 4.4});
  const Trial fast = trial_of({}, {1.0, 4.0});
  EXPECT_NEAR(slow.seconds() / fast.seconds(), 1.1, 1e-12);
}

TEST(Trial, WithFewestKeysIsChosenOfThoseAsFast) {
  const std::vector<Trial> trials{
      trial_of({}, {1.1, 2.2, 3.3}), trial_of({"a", "b"}, {1.0, 2.0, 3.0}),
      trial_of({"a"}, {1.2, 1.9, 3.2}), trial_of({"c"}, {1.1, 2.0, 3.2})};
  EXPECT_EQ(simplest_of_fastest(trials).keys, std::vector<std::string>{"c"});
}

TEST(SoFar, NamesTheFastestOfThoseThatHaveRun) {
  Trial typed = trial_of({}, {2.0});
  EXPECT_EQ(so_far_text({}, typed, 64.0), "");
  Trial failed = trial_of({"a", "b", "c"}, {0.1});
  failed.failure = "no memory";
  EXPECT_EQ(so_far_text({trial_of({"a"}, {1.5}), trial_of({"a", "b"}, {1.0, 1.0}), failed,
                         trial_of({}, {4.0, 4.0})},
                        typed, 64.0),
            "so far: of 2 tried '2' is the fastest, 64.0 images/s beside 16.0 as typed; nothing is "
            "proved, and no file is written\n");
}

TEST(Trial, JoinsKeys) {
  const Trial both =
      joined({.name = "2 workers", .workers = 2, .keys = {"layout.overlap=none"}},
             {.name = "layout.buckets=4", .workers = 2, .keys = {"layout.buckets=4"}});
  EXPECT_EQ(both.name, "2 workers, layout.buckets=4");
  EXPECT_EQ(both.keys, (std::vector<std::string>{"layout.overlap=none", "layout.buckets=4"}));
}

TEST(Speedup, IsCertainWhereRoundsAgree) {
  const Speedup speedup = speedup_of(std::array{2.0, 4.0, 6.0}, std::array{1.0, 2.0, 3.0});
  EXPECT_NEAR(speedup.gain, 2.0, 1e-12);
  EXPECT_NEAR(speedup.least, 2.0, 1e-12);
}

TEST(Speedup, DoubtsRoundsThatDiffer) {
  // Logarithms -0.1, 0, 0.1, 0.2, 0.3: mean 0.1, standard error 0.0707, times 2.132.
  const Speedup speedup =
      speedup_of(std::array{0.904837418, 1.0, 1.105170918, 1.221402758, 1.349858808},
                 std::array{1.0, 1.0, 1.0, 1.0, 1.0});
  EXPECT_NEAR(std::log(speedup.gain), 0.1, 1e-6);
  EXPECT_NEAR(std::log(speedup.least), 0.1 - 0.150755, 1e-4);
}

TEST(Trial, SetsPartsBesideEachOther) {
  Trial before;
  before.runs.push_back({.steps = 16, .seconds = 1, .parts = {{"data", 0.5}, {"g_forward", 0.1}}});
  Trial after;
  after.runs.push_back({.steps = 16, .seconds = 1, .parts = {{"g_forward", 0.2}}});
  const std::string table = parts_table(before, after);
  EXPECT_THAT(table, HasSubstr("500.000"));
  EXPECT_LT(table.find("data"), table.find("g_forward"));
}

}  // namespace
}  // namespace gangway::launch
