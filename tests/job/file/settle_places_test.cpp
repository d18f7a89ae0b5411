// SPDX-License-Identifier: MIT
// A later source that changes a choice drops keys that earlier sources set for the old choice.
#include "job/file/settle_places.hpp"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::problems_of;
using testing::sources_of;
using testing::spec_of;

/// A job file with a choice and its dependent keys, and words that make another choice.
struct Pair {
  std::string file;
  std::vector<std::string> words;
  std::string left_out;  ///< keys of the file that are dropped
};

const std::string kAda = "training: {augment: {policy: ada, target: 0.5, kimg: 50}}";
const std::string kStrength =
    "training: {augment: {policy: ada, strength: 0.2, multipliers: {color: 0.5}, schedule: {decay: "
    "cosine, final: 0.3}}}";
const std::string kBest =
    "checkpoint: {every_kimg: 10, keep_best: 2, score_samples: 500, early_stop: {patience: 3}}\n"
    "training: {plateau: {patience: 2, factor: 0.2}}";
const std::string kScores =
    "evaluation: {every_kimg: 5, metrics: [fd, kid], decides: kid, features: /proc/self/exe, "
    "resize: clean}";
const std::string kRollback =
    "training: {divergence: {policy: rollback, retries: 2, rewind: 50, saturated_ticks: 5, "
    "act_on_saturation: true, diversity: 0.1, diversity_steps: 9}}";
const std::string kStyle =
    "model: {family: stylegan2, resolution: 32, width: 16, mapping_layers: 4}\n"
    "training: {path_length: {weight: 1, interval: 8}}";
const std::string kGpu =
    "numerics: {device: cuda, kernels: fastest, order: nccl}\nlayout: {transport: nccl}";
const std::string kCycle =
    "model: {family: cyclegan, width: 16, blocks: 2}\n"
    "data: {source: 'classes:fashion-mnist:5,7'}\n"
    "training: {recipe: cyclegan, loss: least-squares, pool: 50}\n"
    "generator_ab: {ema_kimg: 2}\n"
    "discriminator_a: {clip_norm: 1}";
const std::string kRates =
    "generator: {optimizer: {adam: {lr: 1e-3, betas: [0.5, 0.9]}}, schedule: {decay: step, "
    "step_kimg: 5, final_beta2: 0.99}}";
const std::string kAverage =
    "generator: {ema_kimg: 10, ema_rampup: 0.1, schedule: {ema: {warmup_kimg: 2}}}";
const std::string kPenalty =
    "training: {r1: {gamma: 1, interval: 16, final_factor: 0.5}, burn_in_kimg: 10, augment: "
    "{policy: diffaugment, penalties: original}}";
const std::string kLabels =
    "model: {family: biggan, resolution: 32, width: 16, classes: 10, conditioning: shared}";

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all{
      // Augmentation
      {kAda, {"training.augment.policy=none"}, "training.augment.kimg, training.augment.target"},
      {kAda, {"training.augment.policy=null"}, "training.augment.kimg, training.augment.target"},
      {kAda, {"~training.augment.policy"}, "training.augment.kimg, training.augment.target"},
      {kAda,
       {"training.augment.policy=diffaugment"},
       "training.augment.kimg, training.augment.target"},
      {kAda, {"training.augment.strength=0.3"}, "training.augment.kimg, training.augment.target"},
      {kAda, {"training.augment.policy=none", "training.augment.policy=ada"}, ""},
      {kAda, {"~training.augment"}, ""},
      {kStrength,
       {"training.augment.policy=none"},
       "training.augment.multipliers, training.augment.schedule, training.augment.strength"},
      {kStrength,
       {"training.augment.strength=adaptive", "training.augment.target=0.4"},
       "training.augment.schedule"},
      {kStrength, {"training.augment.kinds=[blit]"}, "training.augment.multipliers"},
      {"training: {augment: {policy: ada, kinds: [filter, blit]}}",
       {"training.augment.policy=diffaugment"},
       "training.augment.kinds"},
      // Evaluation
      {kBest,
       {"checkpoint.keep_best=0"},
       "checkpoint.early_stop.patience, training.plateau.factor, "
       "training.plateau.patience"},
      {kBest,
       {"checkpoint.keep_best=null"},
       "checkpoint.early_stop.patience, training.plateau.factor, "
       "training.plateau.patience"},
      {kBest,
       {"checkpoint.every_kimg=0"},
       "checkpoint.early_stop.patience, training.plateau.factor, training.plateau.patience"},
      {kBest, {"training.plateau.patience=0"}, "training.plateau.factor"},
      {kScores, {"evaluation.metrics=[kid, swd]"}, ""},
      {kScores, {"evaluation.metrics=[swd]"}, "evaluation.decides"},
      {kScores, {"evaluation.features=lenet"}, "evaluation.resize"},
      {kScores,
       {"data.source=stacked:fashion-mnist", "model.channels=3", "evaluation.features=lenet"},
       "evaluation.decides, evaluation.metrics, evaluation.resize"},
      {kBest, {"checkpoint.early_stop.patience=0"}, ""},
      // Trouble
      {kRollback,
       {"training.divergence.policy=stop"},
       "training.divergence.retries, training.divergence.rewind"},
      {kRollback,
       {"~training.divergence.policy"},
       "training.divergence.retries, training.divergence.rewind"},
      {kRollback,
       {"training.divergence.saturated_ticks=0"},
       "training.divergence.act_on_saturation"},
      {kRollback, {"training.divergence.diversity=0"}, "training.divergence.diversity_steps"},
      // Optimisers, rates, averages
      {kRates, {"generator.optimizer.sgd.lr=0.1"}, "generator.schedule.final_beta2"},
      {kRates, {"~generator.optimizer"}, ""},
      {kRates, {"generator.schedule.decay=cosine"}, ""},
      {kRates, {"generator.schedule.decay=none"}, ""},
      {kRates,
       {"generator.schedule.beta2={decay: linear, final: 0.9}"},
       "generator.schedule.final_beta2"},
      {kRates,
       {"generator.weights=g.safetensors", "generator.frozen=true"},
       "generator.optimizer.adam, generator.optimizer.adam.betas, generator.optimizer.adam.lr, "
       "generator.schedule.decay, generator.schedule.final_beta2, generator.schedule.step_kimg"},
      {kAverage, {"generator.ema_kimg=0"}, "generator.ema_rampup, generator.schedule.ema"},
      {"generator: {initialization: normal, initialization_deviation: 0.1}",
       {"generator.initialization=he"},
       "generator.initialization_deviation"},
      // Losses and penalties
      {kPenalty,
       {"training.r1.gamma=0"},
       "training.augment.penalties, training.burn_in_kimg, training.r1.final_factor, "
       "training.r1.interval"},
      {"training: {gradient_penalty: 5, gradient_penalty_schedule: {decay: cosine, final_factor: "
       "0.5}}",
       {"training.gradient_penalty=0"},
       "training.gradient_penalty_schedule"},
      {"training: {lecam: {weight: 0.1, decay: 0.9}}",
       {"training.lecam.weight=0"},
       "training.lecam.decay"},
      {"training: {label_smoothing: 0.1}", {"training.loss=hinge"}, "training.label_smoothing"},
      {"training: {loss: relativistic, generator_reals: new}",
       {"training.loss=hinge"},
       "training.generator_reals"},
      // Families and recipes
      {kStyle,
       {"model.family=dcgan"},
       "model.mapping_layers, training.path_length.interval, training.path_length.weight"},
      {kStyle, {"training.path_length.weight=0"}, "training.path_length.interval"},
      {kLabels, {"model.classes=0"}, "model.conditioning"},
      {"generator: {initialization: he, initialization_gain: 2}",
       {"model.family=stylegan2"},
       "generator.initialization, generator.initialization_gain"},
      {kCycle,
       {"training.recipe=adversarial", "model.family=dcgan", "data.source=fashion-mnist"},
       "discriminator_a, generator_ab, model.blocks, training.pool"},
      {"generator: {ema_kimg: 2}\ndiscriminator: {steps: 2}\nnumerics: {wire: {discriminator: "
       "bf16}}\ntraining: {loss: hinge}",
       {"training.recipe=vae", "model.family=dense"},
       "discriminator, generator, numerics.wire, training.loss"},
      {"training: {recipe: vae, kl_weight: 0.5}\nmodel: {family: dense}\nencoder: {clip_norm: 1}",
       {"~training.recipe"},
       "encoder, training.kl_weight"},
      {"model: {resolution: 64, channels: 3}\ndata: {brightness: 0.1}",
       {"data.source=toy:ring8", "model.family=mlp"},
       "data.brightness, model.channels, model.resolution"},
      // Machines
      {kGpu, {"numerics.device=cpu"}, "layout.transport, numerics.kernels, numerics.order"},
      {kGpu, {"numerics.device=null"}, "layout.transport, numerics.kernels, numerics.order"},
      {"layout: {audit: true}", {"layout.check_steps=0"}, "layout.audit"},
      {"layout: {stages: 2, schedule: 1f1b, in_flight: 2}",
       {"layout.schedule=gpipe"},
       "layout.in_flight"},
      {"output: {control_certificate: c.pem, control_key: k.pem}",
       {"output.control_certificate=none"},
       "output.control_key"},
  };
  return all;
}

std::string joined_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(Places, LeaveOutWhatALaterChoiceHasNoUseFor) {
  for (const Pair& pair : pairs()) {
    SCOPED_TRACE(pair.file + " + " + joined_words(pair.words));
    if (const auto problems = problems_of(pair.file, pair.words); !problems.empty()) {
      ADD_FAILURE() << ::testing::PrintToString(problems);
      continue;
    }
    const std::vector<std::string> expected{
        "left out of job.yaml, because a later choice has no use for it: " + pair.left_out};
    EXPECT_EQ(load_job(sources_of(pair.file, pair.words)).notes,
              pair.left_out.empty() ? std::vector<std::string>() : expected);
  }
}

TEST(Places, TakeTheJobThatIsMeantWithoutWhatIsLeftOut) {
  for (const Pair& pair : pairs()) {
    SCOPED_TRACE(pair.file + " + " + joined_words(pair.words));
    ASSERT_THAT(problems_of(pair.file, pair.words), IsEmpty());
    const ResolvedJob job = load_job(sources_of(pair.file, pair.words));
    EXPECT_EQ(parse_job(job.yaml, "again"), job.spec);
  }
}

TEST(Places, RefuseTheSameInOnePlace) {
  const std::string remedy = "leave it out";
  EXPECT_THAT(problems_of("training: {augment: {target: 0.5}}", {"training.augment.policy=none"}),
              ElementsAre(HasSubstr("job.yaml:1:22: training.augment.target: ")));
  EXPECT_THAT(problems_of("", {"training.augment.policy=none", "training.augment.target=0.5"}),
              ElementsAre(HasSubstr("command line: training.augment.target=0.5: ")));
  EXPECT_THAT(problems_of(kAda, {"training.augment.policy=none", "training.augment.target=0.4"}),
              ElementsAre(HasSubstr("command line: training.augment.target=0.4: ")));
  EXPECT_THAT(problems_of("training: {r1: {interval: 4}}", {"training.r1.gamma=0"}),
              ElementsAre(HasSubstr(remedy)));
}

TEST(Places, RefuseACompanionWithoutTheChoiceThatItIsAbout) {
  EXPECT_THAT(problems_of("training: {augment: {policy: none}}", {"training.augment.target=0.5"}),
              ElementsAre(HasSubstr("training.augment.target")));
}

TEST(Places, AreTheFileTheEnvironmentAndTheCommandLine) {
  EXPECT_EQ(
      load_job(sources_of(kAda, {}, {{"GANGWAY_TRAINING_AUGMENT_POLICY", "none"}})).notes,
      std::vector<std::string>{"left out of job.yaml, because a later choice has no use for it: "
                               "training.augment.kimg, training.augment.target"});
  const std::map<std::string, std::string> environment{{"GANGWAY_TRAINING_AUGMENT_POLICY", "ada"},
                                                       {"GANGWAY_TRAINING_AUGMENT_TARGET", "0.5"}};
  EXPECT_EQ(load_job(sources_of("", {"~training.augment.policy"}, environment)).notes,
            std::vector<std::string>{
                "left out of the environment, because a later choice has no use for it: "
                "training.augment.target"});
  EXPECT_THAT(problems_of("", {}, {{"GANGWAY_TRAINING_AUGMENT_TARGET", "0.5"}}),
              ElementsAre(HasSubstr("environment: GANGWAY_TRAINING_AUGMENT_TARGET=0.5")));
}

TEST(Places, LetAnotherOneSayWhatWasTakenBack) {
  EXPECT_EQ(spec_of("training: {kimg: 5}", {"training.kimg=null"}).training.kimg,
            JobSpec{}.training.kimg);
  EXPECT_EQ(spec_of("training: {kimg: 5}", {"~training.kimg", "training.kimg=7"}).training.kimg,
            7.0);
  EXPECT_EQ(spec_of("training: {kimg: 5}", {}, {{"GANGWAY_TRAINING_KIMG", "null"}}).training.kimg,
            JobSpec{}.training.kimg);
  EXPECT_EQ(spec_of("generator: {optimizer: {sgd: {lr: 0.1}}}", {"~generator.optimizer"})
                .networks[NetworkId{0}]
                .optimizer.kind,
            OptimizerKind::kAdam);
}

TEST(Places, NameAKeyToTakeBackThatThereIsNot) {
  EXPECT_THAT(
      problems_of("", {"~training.kmig"}),
      ElementsAre("command line: ~training.kmig: unknown key; did you mean 'training.kimg'?"));
  EXPECT_THAT(problems_of("", {"training.kmig=null"}),
              ElementsAre(HasSubstr("unknown key; did you mean 'training.kimg'?")));
  EXPECT_THAT(problems_of("training: {kimg: null}"), ElementsAre(HasSubstr("not nothing")));
}

TEST(Places, StillRefuseWrongValuesOfAnEarlierPlace) {
  EXPECT_THAT(problems_of("training: {kimg: many}", {"training.recipe=vae", "model.family=dense"}),
              ElementsAre(HasSubstr("job.yaml:1:12: training.kimg: ")));
  EXPECT_THAT(problems_of("discriminater: {steps: 2}", {"training.recipe=vae"}),
              ::testing::Contains(HasSubstr("discriminater: unknown key")));
}

}  // namespace
}  // namespace gangway
