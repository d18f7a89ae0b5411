// SPDX-License-Identifier: MIT
#include "checkpoint/store/scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/format/names.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Scores : public ::testing::Test {
 protected:
  /// Commits a checkpoint of `step` and scores it.
  void add(std::int64_t step, double value, const std::string& metric = "FD-LeNet") {
    (void)commit_sample(folder.path(), step);
    write_score(folder.path(), step,
                {.checkpoint_id = read_manifest_id(step),
                 .metric = metric,
                 .value = value,
                 .samples = 100});
  }
  std::string read_manifest_id(std::int64_t step) {
    for (const CheckpointEntry& entry : list_checkpoints(folder.path())) {
      if (entry.step == step) {
        return entry.manifest->checkpoint_id;
      }
    }
    return {};
  }
  std::map<std::int64_t, CheckpointScore> read() {
    return read_scores(folder.path(), list_checkpoints(folder.path()));
  }
  std::vector<std::int64_t> steps() {
    std::vector<std::int64_t> steps;
    for (const CheckpointEntry& entry : list_checkpoints(folder.path())) {
      steps.push_back(entry.step);
    }
    return steps;
  }
  fs::path file(std::int64_t step) const {
    return folder.path() / (step_name(step) + ".score.json");
  }
  ScratchFolder folder;
};

TEST_F(Scores, AreReadAsTheyWereWritten) {
  (void)commit_sample(folder.path(), 7);
  write_score(folder.path(), 7,
              {.checkpoint_id = read_manifest_id(7),
               .metric = "modes",
               .value = 0.1,
               .better = Better::kHigher,
               .samples = 10'000,
               .network = "f58c",
               .beside = {{"SWD", 2.5, Better::kLower}, {"recall", 0.5, Better::kHigher}}});
  const CheckpointScore score = read().at(7);
  EXPECT_EQ(score.metric, "modes");
  EXPECT_EQ(score.value, 0.1);
  EXPECT_EQ(score.better, Better::kHigher);
  EXPECT_EQ(score.samples, 10'000);
  EXPECT_EQ(score.network, "f58c");
  ASSERT_EQ(score.beside.size(), 2U);
  EXPECT_EQ(score.beside[0].value, 2.5);
  EXPECT_EQ(score.beside[1].metric, "recall");
  EXPECT_EQ(score.beside[1].better, Better::kHigher);
}

TEST_F(Scores, OfEarlierVersionsAreReadToo) {
  add(7, 1.0);
  write_text(file(7), "{\"checkpoint_id\":\"" + read_manifest_id(7) +
                          "\",\"metric\":\"FD-LeNet\",\"score\":2,\"better\":\"lower\","
                          "\"samples\":100}");
  EXPECT_EQ(read().at(7).value, 2.0);
}

TEST_F(Scores, OfAnotherCheckpointOfThatStepCountAsNone) {
  (void)commit_sample(folder.path(), 7);
  write_score(folder.path(), 7, {.checkpoint_id = "another", .metric = "FD-LeNet", .samples = 100});
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(Scores, ThatAreDamagedCountAsNone) {
  for (const char* text : {"", "{", "[]", "{\"checkpoint_id\": 3}", "{\"score\": 1e999}",
                           "{\"checkpoint_id\": \"x\", \"metric\": \"m\", \"score\": \"low\", "
                           "\"better\": \"lower\", \"samples\": 1}"}) {
    add(7, 1.0);
    write_text(file(7), text);
    EXPECT_THAT(read(), IsEmpty()) << text;
    fs::remove_all(folder.path() / "step-000000007");
  }
  add(8, 1.0);
  write_text(file(8), std::string(10'000, ' '));
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(Scores, RankLowerOrHigherAndOfEqualsTheNewer) {
  const auto scored = [](double value, Better better) {
    return CheckpointScore{.metric = "m", .value = value, .better = better, .samples = 1};
  };
  for (const auto& [better, sign] : {std::pair{Better::kLower, 1.0}, {Better::kHigher, -1.0}}) {
    const std::map<std::int64_t, CheckpointScore> scores{{1, scored(sign * 5, better)},
                                                         {2, scored(sign * 3, better)},
                                                         {3, scored(sign * 9, better)},
                                                         {4, scored(sign * 3, better)}};
    EXPECT_THAT(best_steps(scores, 1), ElementsAre(4));
    EXPECT_THAT(best_steps(scores, 3), ElementsAre(1, 2, 4));
    EXPECT_THAT(best_steps(scores, 0), IsEmpty());
  }
}

TEST_F(Scores, OfAnotherMetricOrAsManySamplesAreNotCompared) {
  std::map<std::int64_t, CheckpointScore> scores;
  scores[1] = {.metric = "old", .value = 0.0, .samples = 1};
  scores[2] = {.metric = "m", .value = 1.0, .samples = 2};
  scores[3] = {.metric = "m", .value = 9.0, .samples = 1};
  scores[0] = {.metric = "m", .value = 1.0, .samples = 1, .network = "another"};
  EXPECT_THAT(best_steps(scores, 3), ElementsAre(3));
}

TEST_F(Scores, KeepTheBestBesideTheNewest) {
  for (const auto& [step, value] :
       {std::pair{1, 50.0}, {2, 20.0}, {3, 40.0}, {4, 30.0}, {5, 60.0}}) {
    add(step, value);
  }
  (void)remove_old(folder.path(), RetentionPolicy{.keep = 1, .keep_best = 2});
  EXPECT_THAT(steps(), ElementsAre(5, 4, 2));
  EXPECT_FALSE(fs::exists(file(3))) << "its score went with it";
  EXPECT_TRUE(fs::exists(file(2)));
}

TEST_F(Scores, AreNeededToStayAndWhoeverIsBeingScoredStays) {
  for (const std::int64_t step : {1, 2, 3}) {
    (void)commit_sample(folder.path(), step);
  }
  (void)remove_old(folder.path(), RetentionPolicy{.keep = 1, .keep_best = 5, .in_use = {2}});
  EXPECT_THAT(steps(), ElementsAre(3, 2));
}

}  // namespace
}  // namespace gangway::checkpoint
