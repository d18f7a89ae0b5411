// SPDX-License-Identifier: MIT
// Resolves the names of keys, before their values are read.
#include "job/keys/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using testing::problems_of;

TEST(Settings, NamesAnUnknownKeyWithItsPlaceAndTheNearestOne) {
  EXPECT_THAT(
      problems_of("training:\n    kimgs: 3\n"),
      ElementsAre("job.yaml:2:5: training.kimgs: unknown key; did you mean 'training.kimg'?"));
  EXPECT_THAT(
      problems_of("", {"training.kimgs=3"}),
      ElementsAre("command line: training.kimgs=3: unknown key; did you mean 'training.kimg'?"));
  EXPECT_THAT(problems_of("", {}, {{"GANGWAY_TRAINING_KIMGS", "3"}}),
              ElementsAre("environment: GANGWAY_TRAINING_KIMGS=3: unknown key; did you mean "
                          "'GANGWAY_TRAINING_KIMG'?"));
}

TEST(Settings, KnowsWhatOthersCallAKey) {
  const auto meant = [](const std::string& path, const std::string& key) {
    EXPECT_THAT(problems_of("", {path + "=1"}),
                ElementsAre(::testing::HasSubstr("unknown key; did you mean '" + key + "'?")));
  };
  meant("training.batch_size", "training.batch");
  meant("batch_size", "training.batch");
  meant("discriminator.learning_rate", "discriminator.optimizer.adam.lr");
  meant("learning_rate", "generator.optimizer.adam.lr");
  meant("training.epochs", "training.kimg");
  meant("data.num_workers", "data.threads");
}

TEST(Settings, PointsToThePageWhenNothingIsNear) {
  EXPECT_THAT(problems_of("training: {colour: red}"),
              ElementsAre("job.yaml:1:12: training.colour: unknown key; see docs/job-file.md"));
  EXPECT_THAT(
      problems_of("", {}, {{"GANGWAY_OUTPUT_COLOURFULNESS", "3"}}),
      ElementsAre(
          "environment: GANGWAY_OUTPUT_COLOURFULNESS=3: unknown key; see docs/job-file.md"));
}

TEST(Settings, NamesAnUnknownSectionOnce) {
  EXPECT_THAT(problems_of("trianing: {kimg: 3, batch: 5}"),
              ElementsAre("job.yaml:1:1: trianing: unknown key; did you mean 'training'?"));
}

TEST(Settings, IgnoresEnvironmentNamesOfNoSection) {
  EXPECT_THAT(problems_of("", {}, {{"GANGWAY_BIN", "x"}, {"HOME", "/"}, {"GANGWAY_DATASETS", "x"}}),
              ElementsAre());
}

TEST(Settings, RefusesAValueWhereAMapIsExpected) {
  EXPECT_THAT(
      problems_of("checkpoint: 5"),
      ElementsAre("job.yaml:1:1: checkpoint: expected a map of keys (every_kimg, "
                  "every_seconds, every_steps, snapshot_steps, snapshot_cost, keep, keep_every, "
                  "keep_best, early_stop), not '5'"));
  EXPECT_THAT(
      problems_of("generator: {optimizer: adam}"),
      ElementsAre(
          "job.yaml:1:13: generator.optimizer: expected a map of keys (adam, adamw, rmsprop, sgd, "
          "lion), not 'adam'"));
  EXPECT_THAT(
      problems_of("", {"training=[1]"}),
      ElementsAre(
          "command line: training=[1]: expected a map of keys (recipe, step, step_hash, kimg, "
          "batch, microbatches, "
          "seed, burn_in_kimg, growth, loss, reuse_fakes, fake_labels, generator_reals, "
          "gradient_penalty, gradient_penalty_schedule, r1, r2, "
          "orthogonal_weight, label_smoothing, label_noise, lecam, "
          "path_length, augment, reconstruction, kl_weight, adversarial_weight, "
          "information_weight, "
          "codes_weight, l1_weight, cycle_weight, identity_weight, pool, style, distill, "
          "divergence, "
          "plateau), not a list"));
}

TEST(Settings, RefusesAFileThatIsNoMap) {
  EXPECT_THAT(problems_of("- a\n"),
              ElementsAre("job.yaml:1:1: expected a map of sections (model, data, training, "
                          "generator, discriminator, "
                          "numerics, layout, checkpoint, evaluation, output), not a list"));
}

TEST(Settings, RefusesAMapWhereAValueIsExpected) {
  EXPECT_THAT(problems_of("training: {kimg: {a: 1}}"),
              ElementsAre("job.yaml:1:12: training.kimg: expected a number, not a map"));
}

TEST(Settings, TakesEmptySectionsForDefaults) {
  EXPECT_THAT(problems_of("training:\nmodel: {}\ngenerator: {optimizer: }\n"), ElementsAre());
}

TEST(Settings, RefusesAnOverrideWithoutAnEqualsSign) {
  EXPECT_THAT(
      problems_of("", {"training.kimg"}),
      ElementsAre("command line: 'training.kimg': expected key=value, such as training.kimg=80"));
  EXPECT_THAT(problems_of("", {"=3"}),
              ElementsAre("command line: '=3': expected key=value, such as training.kimg=80"));
}

TEST(Settings, RefusesAnOverrideThatIsNoYaml) {
  const auto problems = problems_of("", {"training.kimg=\"1"});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].substr(0, 49), "command line: training.kimg=\"1: not valid YAML: i");
}

TEST(Settings, NamesTheInnerKeyOfAnOverrideThatIsAMap) {
  EXPECT_THAT(problems_of("", {"generator.optimizer={adam: {lr: x}}"}),
              ElementsAre("command line: generator.optimizer={adam: {lr: x}}: "
                          "generator.optimizer.adam.lr: expected a "
                          "number, not 'x'"));
}

TEST(Settings, RefusesTwoOptimizers) {
  EXPECT_THAT(
      problems_of("generator: {optimizer: {adam: {}, adamw: {}}}"),
      ElementsAre(
          "job.yaml:1:35: generator.optimizer.adamw: 'adam' is chosen already; keep one of them"));
}

TEST(Settings, ReportsAKeyGivenTwice) {
  EXPECT_THAT(problems_of("training: {kimg: 1}\ntraining: {batch: 2}\n"),
              ElementsAre("job.yaml:2:1: key 'training' is given twice; keep one"));
}

TEST(Problems, StopsAtAHundredAndSaysSo) {
  Problems problems;
  for (int i = 0; i < 100; ++i) {
    problems.add("x");
  }
  EXPECT_EQ(problems.lines().size(), 100U);
  problems.add("x");
  EXPECT_EQ(problems.lines().size(), 101U);
  EXPECT_EQ(problems.lines().back(), "there are more than 100 problems; mend these first");
}

}  // namespace
}  // namespace gangway
