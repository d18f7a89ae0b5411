// SPDX-License-Identifier: MIT
#include "launch/tune/candidates.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"

namespace gangway::launch {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

JobSpec job_with(const std::vector<std::string>& keys) {
  return load_job({.file = {}, .text = std::nullopt, .overrides = keys, .environment = {}}).spec;
}

Trial trial_with(const std::map<std::string, double>& parts) {
  Trial trial{.name = "as typed", .workers = 2, .keys = {}};
  trial.runs.push_back({.steps = 24, .seconds = 1.0, .parts = parts});
  return trial;
}

auto has_key(const std::string& key) { return Field(&Trial::keys, Contains(key)); }

TEST(TuneLength, CountsTheRunsOfAllStages) {
  // 9, 5 and 3 layouts, 4 trials of keys, 5 and 3 finalists, each there and back.
  EXPECT_EQ(length_text(8, 3, 4.0, 2.0),
            "up to 58 runs of some 6 s each, then 20 of 8 s as a proof: some 9 minutes in all\n");
  EXPECT_THAT(length_text(8, 0, 4.0, 2.0), ::testing::StartsWith("up to 34 runs"));
}

TEST(KeysFirst, AreTriedWhereTheWaitForDataIsTheLargestPart) {
  EXPECT_TRUE(waits_most_for_data(trial_with({{"data", 0.5}, {"generator_forward", 0.4}})));
  EXPECT_FALSE(waits_most_for_data(trial_with({{"data", 0.4}, {"generator_forward", 0.5}})));
}

TEST(KeyTrials, AreOfWhatAStepWaitsForAlone) {
  const JobSpec job = job_with({"data.source=images:photos", "model.channels=3"});
  EXPECT_THAT(key_trials(job, trial_with({{"generator_forward", 1.0}}), 2), IsEmpty());
  const std::vector<Trial> of_data =
      key_trials(job, trial_with({{"generator_forward", 0.5}, {"data", 0.5}}), 2);
  EXPECT_THAT(of_data, Contains(has_key("data.cache=auto")));
  EXPECT_THAT(of_data, Contains(has_key("data.threads=2")));
  EXPECT_THAT(of_data, Not(Contains(has_key("layout.buckets=4"))));
  const std::vector<Trial> of_exchange =
      key_trials(job, trial_with({{"generator_forward", 0.5}, {"messages", 0.5}}), 2);
  EXPECT_THAT(of_exchange, Contains(has_key("layout.buckets=4")));
  EXPECT_THAT(of_exchange, Not(Contains(has_key("data.cache=auto"))));
}

TEST(KeyTrials, LookTwiceAtWhatACacheKeeps) {
  const JobSpec job = job_with({"data.source=images:photos", "model.channels=3"});
  const std::vector<Trial> trials = key_trials(job, trial_with({{"data", 1.0}}), 2);
  const auto cached = std::ranges::find_if(trials, &Trial::fills_cache);
  ASSERT_NE(cached, trials.end());
  EXPECT_THAT(cached->keys, ElementsAre("data.cache=auto"));
}

TEST(KeyTrials, ChangeNoNumbers) {
  const JobSpec job =
      job_with({"checkpoint.snapshot_steps=1", "layout.recompute=true", "layout.stages=2"});
  const std::vector<Trial> trials =
      key_trials(job, trial_with({{"snapshots", 0.5}, {"data", 0.2}, {"workers", 0.3}}), 4);
  EXPECT_THAT(trials, Contains(has_key("checkpoint.snapshot_steps=auto")));
  EXPECT_THAT(trials, Contains(has_key("layout.recompute=false")));
  EXPECT_THAT(trials, Each(Field(&Trial::changes_numbers, false)));
}

TEST(Finalists, JoinWhatIsFasterAloneAndHasOtherKeys) {
  const auto trial = [](const std::string& more, double seconds) {
    Trial made{.name = "best", .workers = 2, .keys = {"layout.stages=1"}};
    if (!more.empty()) {
      made = joined(made, {.name = more, .workers = 2, .keys = {more}});
    }
    made.runs.push_back({.steps = 24, .seconds = seconds, .parts = {}});
    return made;
  };
  const std::vector<Trial> chosen =
      finalists("best", {trial("a=1", 1.0), trial("a=2", 1.1), trial("b=1", 1.2),
                         trial("c=1", 1.295), trial("", 1.3)});
  ASSERT_EQ(chosen.size(), 5U);
  EXPECT_EQ(chosen[3].name, "best, a=1, b=1");
  EXPECT_THAT(chosen[3].keys, ElementsAre("layout.stages=1", "a=1", "b=1"));
  EXPECT_EQ(chosen[4].name, "best");
  EXPECT_EQ(finalists("best", {trial("a=1", 1.0), trial("", 1.3)}).size(), 2U);
}

TEST(NumberTrials, KeepTheBatchAndSayThatNumbersChange) {
  const JobSpec job = job_with({"training.batch=16", "training.microbatches=2"});
  const std::vector<Trial> trials = number_trials(job, trial_with({}), 4);
  EXPECT_THAT(trials, Each(Field(&Trial::changes_numbers, true)));
  EXPECT_THAT(trials, Contains(has_key("numerics.precision=bf16")));
  EXPECT_THAT(trials, Not(Contains(has_key("training.microbatches=16"))));  // an image each
  const auto more = std::ranges::find_if(trials, [](const Trial& trial) {
    return std::ranges::find(trial.keys, "training.microbatches=8") != trial.keys.end();
  });
  ASSERT_NE(more, trials.end());
  EXPECT_EQ(more->workers, 4);
}

TEST(OverlapTrials, AreTheOtherWays) {
  const std::vector<Trial> trials =
      overlap_trials(job_with({"layout.overlap=none"}), trial_with({}));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_THAT(trials.front().keys, ElementsAre("layout.overlap=across"));
}

}  // namespace
}  // namespace gangway::launch
