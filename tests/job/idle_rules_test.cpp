// SPDX-License-Identifier: MIT
// Keys without effect: each gets one line, which names the setting that would give it an effect.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/rules/rules.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::problems_of;

struct Case {
  std::string key;
  std::vector<std::string> with;  ///< setting that gives the key an effect
  std::string job = "model: {resolution: 32}";
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"training.r1.interval=4", {"training.r1.gamma=1"}},
      {"training.r1.interval=4", {"training.r2.gamma=1"}},
      {"training.r1.final_factor=0.5", {"training.r1.gamma=1"}},
      {"training.r1.schedule={decay: linear, final_factor: 0.1}", {"training.r1.gamma=1"}},
      {"training.gradient_penalty_schedule={decay: linear, final_factor: 0.1}",
       {"training.gradient_penalty=1"}},
      {"numerics.penalties=bf16", {"training.gradient_penalty=1"}},
      {"numerics.penalties=bf16",
       {"training.path_length.weight=1"},
       "model: {family: stylegan2, resolution: 32}"},
      {"training.lecam.decay=0.5", {"training.lecam.weight=1"}},
      {"training.path_length.interval=2",
       {"training.path_length.weight=1"},
       "model: {family: stylegan2, resolution: 32}"},
      {"training.burn_in_kimg=1", {"generator.schedule.decay=cosine"}},
      {"training.codes_weight=2",
       {"model.codes=2"},
       "model: {family: infogan, categories: 10}\ntraining: {recipe: infogan}"},
      {"training.divergence.retries=7", {"training.divergence.policy=rollback"}},
      {"training.divergence.lr_factor=0.1", {"training.divergence.policy=rollback"}},
      {"training.divergence.reseed=false", {"training.divergence.policy=rollback"}},
      {"training.divergence.rewind=7", {"training.divergence.policy=rollback"}},
      {"training.divergence.diversity_steps=7", {"training.divergence.diversity=0.1"}},
      {"training.plateau.factor=0.1", {"training.plateau.patience=1", "checkpoint.keep_best=1"}},
      {"evaluation.where=spare", {"checkpoint.keep_best=1"}},
      {"evaluation.resize=clean", {"evaluation.features=/proc/self/exe"}},
      {"layout.in_flight=2",
       {"layout.schedule=1f1b"},
       "model: {resolution: 32}\nlayout: {stages: 2, schedule: gpipe}"},
  };
  return all;
}

TEST(IdleRules, RefuseAKeyThatSaysNothingInOneLine) {
  for (const Case& one : cases()) {
    const std::string path = one.key.substr(0, one.key.find('='));
    const std::vector<std::string> problems = problems_of(one.job, {one.key});
    ASSERT_EQ(problems.size(), 1U) << one.key << ": " << ::testing::PrintToString(problems);
    EXPECT_THAT(problems.front(), ::testing::HasSubstr(path + "="));
    EXPECT_THAT(problems.front(), ::testing::HasSubstr(" alone; leave it out"));
    EXPECT_THAT(problems.front(),
                ::testing::HasSubstr(one.with.front().substr(0, one.with.front().find('='))))
        << "what would let it";
  }
}

TEST(IdleRules, LetItWhereItSaysSomething) {
  for (const Case& one : cases()) {
    std::vector<std::string> words{one.key};
    words.insert(words.end(), one.with.begin(), one.with.end());
    EXPECT_THAT(problems_of(one.job, words), IsEmpty()) << one.key;
  }
}

TEST(IdleRules, LetAnyKeyHaveTheValueThatItHasAnyway) {
  EXPECT_THAT(problems_of("model: {resolution: 32}\n"
                          "training: {r1: {interval: 1, final_factor: 1}, lecam: {decay: 0.99}, "
                          "divergence: {retries: 3, rewind: 100}}\n"
                          "evaluation: {resize: own}"),
              IsEmpty());
}

TEST(IdleRules, NameTheMasterWhereTwoSwitchesAreOff) {
  EXPECT_THAT(problems_of("model: {resolution: 32}\ntraining:\n  divergence: {saturated_ticks: 0, "
                          "act_on_saturation: true}"),
              ElementsAre("job.yaml:3:36: training.divergence.act_on_saturation: has a meaning "
                          "with training.divergence.saturated_ticks above 0 alone; leave it out"));
}

}  // namespace
}  // namespace gangway
