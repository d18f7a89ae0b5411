// SPDX-License-Identifier: MIT
// Keys of optimisers, initial values and regularisation of a discriminator.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

OptimizerSpec generator_optimizer(const std::vector<std::string>& overrides) {
  return spec_of("", overrides).network("generator").optimizer;
}

TEST(OptimizerKeys, TakeTheNumbersThatEachHas) {
  EXPECT_EQ(generator_optimizer({"generator.optimizer={rmsprop: {lr: 5e-5, alpha: 0.9, eps: 1e-6, "
                                 "weight_decay: 0.1, momentum: 0.5}}"}),
            (OptimizerSpec{.kind = OptimizerKind::kRmsprop,
                           .lr = 5e-5,
                           .eps = 1e-6,
                           .weight_decay = 0.1,
                           .alpha = 0.9,
                           .momentum = 0.5}));
  EXPECT_EQ(generator_optimizer({"generator.optimizer.sgd.momentum=0.9"}),
            (OptimizerSpec{.kind = OptimizerKind::kSgd, .momentum = 0.9}));
}

TEST(OptimizerKeys, BeginFromTheDefaultsOfTheirOwnKind) {
  EXPECT_EQ(generator_optimizer({"generator.optimizer.lion.lr=1e-4"}),
            (OptimizerSpec{.kind = OptimizerKind::kLion, .lr = 1e-4, .betas = {0.9, 0.99}}));
  EXPECT_EQ(generator_optimizer(
                {"generator.optimizer.lion.lr=1e-4", "generator.optimizer.adam.eps=1e-6"}),
            (OptimizerSpec{.eps = 1e-6}));
}

TEST(OptimizerKeys, RefuseWhatAnotherOptimiserHas) {
  EXPECT_THAT(problems_of("generator: {optimizer: {sgd: {betas: [0.5, 0.9]}}}"),
              ElementsAre(HasSubstr("generator.optimizer.sgd.betas: unknown key")));
  EXPECT_THAT(problems_of("generator: {optimizer: {lion: {momentum: 0.5}}}"),
              ElementsAre(HasSubstr("generator.optimizer.lion.momentum: unknown key")));
}

TEST(OptimizerKeys, RefuseAFinalBetaWhereThereIsNone) {
  const std::string key = "generator.schedule.final_beta2=0.99";
  EXPECT_THAT(problems_of("", {key, "generator.optimizer.adamw.lr=1e-3"}), ElementsAre());
  for (const std::string kind : {"rmsprop", "sgd", "lion"}) {
    EXPECT_THAT(problems_of("", {key, "generator.optimizer." + kind + ".lr=1e-3"}),
                ElementsAre("command line: " + key +
                            ": has a meaning for adam and adamw alone; leave it out"));
  }
}

TEST(OptimizerKeys, BelongToTheFingerprint) {
  const auto with = [](const std::string& key) { return job_fingerprint(spec_of("", {key})); };
  EXPECT_NE(with("generator.optimizer.sgd.momentum=0"),
            with("generator.optimizer.sgd.momentum=0.5"));
  EXPECT_NE(with("generator.optimizer.rmsprop.alpha=0.9"),
            with("generator.optimizer.rmsprop.alpha=0.5"));
  EXPECT_NE(with("generator.optimizer.lion.lr=1e-4"), with("generator.optimizer.sgd.lr=1e-4"));
}

TEST(OptimizerKeys, AreResolvedToAJobThatRunsAgain) {
  for (const std::string kind : {"rmsprop", "sgd", "lion"}) {
    const ResolvedJob job =
        load_job(testing::sources_of("", {"discriminator.optimizer." + kind + ".lr=3e-5"}));
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << job.yaml;
  }
}

TEST(InitializationKeys, TakeAKindAndItsNumber) {
  const InitializationSpec he = spec_of("generator: {initialization: he, initialization_gain: 0.5}")
                                    .network("generator")
                                    .initialization;
  EXPECT_EQ(he, (InitializationSpec{.kind = InitializationKind::kHe, .gain = 0.5}));
  const InitializationSpec normal =
      spec_of("discriminator: {initialization: normal, initialization_deviation: 0.1}")
          .network("discriminator")
          .initialization;
  EXPECT_EQ(normal, (InitializationSpec{.kind = InitializationKind::kNormal, .deviation = 0.1}));
}

TEST(InitializationKeys, RefuseANumberOfAnotherKind) {
  EXPECT_THAT(problems_of("generator: {initialization_gain: 2}"),
              ElementsAre("job.yaml:1:13: generator.initialization_gain: has no meaning for "
                          "initialization family; leave it out"));
  EXPECT_THAT(problems_of("generator: {initialization: he, initialization_deviation: 2}"),
              ElementsAre("job.yaml:1:33: generator.initialization_deviation: has no meaning for "
                          "initialization he; leave it out"));
}

TEST(InitializationKeys, AreRefusedWhereTheFamilyScalesItsWeights) {
  for (const std::string family : {"stylegan2", "progressive", "gat"}) {
    EXPECT_THAT(
        problems_of("model: {family: " + family + "}", {"generator.initialization=he"}),
        ElementsAre(HasSubstr("family " + family + " scales its weights where they are applied")));
  }
  EXPECT_THAT(problems_of("model: {family: r3gan}", {"generator.initialization=he"}),
              ElementsAre());
}

TEST(InitializationKeys, CountInTheFingerprintWhereTheyAreGiven) {
  const auto with = [](const std::vector<std::string>& keys) {
    return job_fingerprint(spec_of("", keys));
  };
  EXPECT_EQ(with({"generator.initialization=family"}), with({}));
  EXPECT_NE(with({"generator.initialization=he"}), with({}));
  EXPECT_NE(with({"generator.initialization=he", "generator.initialization_gain=2"}),
            with({"generator.initialization=he"}));
}

TEST(RegulariserKeys, RefuseLabelsThatALossDoesNotLookAt) {
  for (const std::string loss : {"hinge", "wasserstein", "relativistic"}) {
    EXPECT_THAT(problems_of("", {"training.label_smoothing=0.1", "training.loss=" + loss}),
                ElementsAre("command line: training.label_smoothing=0.1: loss " + loss +
                            " has no target for a real image that could be smoothed or flipped; "
                            "use nonsaturating or least-squares, or 0"));
  }
  EXPECT_THAT(problems_of("", {"training.label_noise=0.1", "training.loss=hinge"}),
              ElementsAre(HasSubstr("training.label_noise=0.1: loss hinge has no target")));
  EXPECT_THAT(problems_of("", {"training.label_noise=0.1", "training.loss=least-squares"}),
              ElementsAre());
}

TEST(RegulariserKeys, RefuseLecamWhereLogitsHaveNoLevel) {
  EXPECT_THAT(problems_of("", {"training.lecam.weight=0.1", "training.loss=relativistic"}),
              ElementsAre(HasSubstr("has no level to be drawn to")));
  EXPECT_THAT(problems_of("", {"training.lecam.weight=0.1", "training.loss=hinge"}), ElementsAre());
}

TEST(RegulariserKeys, AreOfTheAdversarialRecipeAlone) {
  for (const std::string key : {"training.label_smoothing=0.1", "training.label_noise=0.1",
                                "training.lecam.weight=0.1", "training.orthogonal_weight=0.1"}) {
    EXPECT_THAT(problems_of("", {"training.recipe=vae", key}),
                ElementsAre(HasSubstr("has no meaning for training.recipe vae")));
  }
}

TEST(RegulariserKeys, StayWithinTheirRange) {
  for (const std::string key : {"training.label_smoothing=0.5", "training.label_noise=0.5",
                                "training.label_noise=-0.1", "training.lecam.decay=1"}) {
    EXPECT_THAT(problems_of("", {key}), ElementsAre(HasSubstr("is out of range")));
  }
}

TEST(RegulariserKeys, CountInTheFingerprintWhereTheyAreGiven) {
  const auto with = [](const std::string& key) { return job_fingerprint(spec_of("", {key})); };
  const std::string without = job_fingerprint(spec_of(""));
  for (const std::string key : {"training.label_smoothing", "training.label_noise",
                                "training.lecam.weight", "training.orthogonal_weight"}) {
    EXPECT_EQ(with(key + "=0"), without) << key;
    EXPECT_NE(with(key + "=0.1"), without) << key;
  }
}

TEST(RegulariserKeys, KeepMapsAtRightAnglesInFamiliesThatDoNotGrow) {
  EXPECT_THAT(problems_of("training: {orthogonal_weight: 1e-4}"), ElementsAre());
  EXPECT_THAT(problems_of("model: {family: progressive}\ntraining: {orthogonal_weight: 1}"),
              ElementsAre(HasSubstr("training.orthogonal_weight: has no meaning for family "
                                    "progressive")));
}

}  // namespace
}  // namespace gangway
