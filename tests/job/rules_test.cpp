// SPDX-License-Identifier: MIT
// Rules between keys: one test per rule, with its message.
#include "job/rules/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using testing::problems_of;

TEST(Rules, SourceIsOneOfTheForms) {
  EXPECT_THAT(
      problems_of("data: {source: fashion_mnist}"),
      ElementsAre("job.yaml:1:8: data.source: 'fashion_mnist' is no source; expected "
                  "fashion-mnist, stacked:fashion-mnist, idx:DIR, "
                  "images:DIR_OR_FILE, pack:DIR, toy:ring8 or toy:grid25, or with two sides "
                  "pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE, edges:fashion-mnist or "
                  "classes:fashion-mnist:A,B, or a Python class, data.py:Faces; did you mean "
                  "'fashion-mnist'?"));
  EXPECT_THAT(
      problems_of("data: {source: 'idx:'}"),
      ElementsAre(
          "job.yaml:1:8: data.source: 'idx:' is no source; expected fashion-mnist, "
          "stacked:fashion-mnist, idx:DIR, images:DIR_OR_FILE, pack:DIR, toy:ring8 or toy:grid25, "
          "or with two sides pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE, edges:fashion-mnist or "
          "classes:fashion-mnist:A,B, or a Python class, data.py:Faces"));
  EXPECT_EQ(problems_of("data: {source: 'images:'}").size(), 1U);
  for (const auto& [wrong, right] :
       std::vector<std::pair<std::string, std::string>>{{"imgaes:photos", "images:photos"},
                                                        {"pair:/a b", "pairs:/a b"},
                                                        {"./photos", "images:./photos"},
                                                        {"faces.zip", "images:faces.zip"},
                                                        {"toy:ring9", "toy:ring8"}}) {
    EXPECT_THAT(problems_of("data: {source: '" + wrong + "'}"),
                ElementsAre(::testing::HasSubstr("did you mean '" + right + "'?")));
  }
  EXPECT_THAT(problems_of("data: {source: 'idx:/x'}"), ElementsAre());
  EXPECT_THAT(problems_of("data: {source: 'images:/x.zip'}"), ElementsAre());
}

TEST(Rules, TwoSidesGoWithTheRecipesThatMakeOneOfTheOther) {
  EXPECT_THAT(problems_of("data: {source: 'edges:fashion-mnist'}"),
              ElementsAre("job.yaml:1:8: data.source: 'edges:fashion-mnist' has two sides, which "
                          "recipe adversarial has no place for; use pix2pix or cyclegan"));
  EXPECT_THAT(
      problems_of("training: {recipe: pix2pix}\nmodel: {family: unet}"),
      ElementsAre("job.yaml:1:12: training.recipe: recipe pix2pix makes pictures of pictures, and "
                  "'fashion-mnist' has no two sides; use pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE, "
                  "edges:fashion-mnist or classes:fashion-mnist:A,B"));
  EXPECT_THAT(problems_of("training: {recipe: pix2pix}\nmodel: {family: unet}\n"
                          "data: {source: 'edges:fashion-mnist'}"),
              ElementsAre());
}

TEST(Rules, CodesGoWithTheRecipeThatReadsThemOff) {
  EXPECT_THAT(
      problems_of("model: {codes: 1}"),
      ElementsAre("job.yaml:1:9: model.codes: has no meaning for training.recipe adversarial (it "
                  "has for infogan); leave it out"));
  EXPECT_THAT(problems_of("training: {recipe: infogan}"),
              ElementsAre("job.yaml:1:12: training.recipe: recipe infogan needs latent codes; use "
                          "model.codes or model.categories above 0"));
  EXPECT_THAT(problems_of("model: {codes: 1}\ntraining: {recipe: infogan}"), ElementsAre());
}

TEST(Rules, AFrozenNetworkHasWeightsAndNothingToTrainThemBy) {
  EXPECT_THAT(problems_of("discriminator: {frozen: true}"),
              ElementsAre("job.yaml:1:17: discriminator.frozen: a frozen network needs "
                          "discriminator.weights, a file to stay with"));
  EXPECT_THAT(
      problems_of("discriminator: {frozen: true, weights: d.safetensors, clip_norm: 1}"),
      ElementsAre("job.yaml:1:55: discriminator.clip_norm: has no meaning for a frozen network; "
                  "leave it out"));
  EXPECT_THAT(problems_of("generator: {frozen: true, weights: g.safetensors}"), ElementsAre());
  EXPECT_EQ(problems_of("", {"generator.frozen=true", "generator.weights=g",
                             "discriminator.frozen=true", "discriminator.weights=d"})
                .size(),
            1U);
}

TEST(Rules, ATrunkWithHeadsHasNoPenalties) {
  EXPECT_THAT(
      problems_of("training: {recipe: vae-gan, loss: wasserstein}"),
      ElementsAre("job.yaml:1:29: training.loss: recipe vae-gan takes no penalties, and loss "
                  "wasserstein needs one; use nonsaturating, least-squares or hinge"));
  EXPECT_THAT(
      problems_of("training: {recipe: vae-gan, r1: {gamma: 1}}"),
      ElementsAre("job.yaml:1:34: training.r1.gamma: has no meaning for training.recipe vae-gan "
                  "(it has for adversarial); leave it out"));
}

TEST(Rules, AStudentHasATeacher) {
  const std::string recipe = "training: {recipe: distill";
  EXPECT_THAT(problems_of(recipe + "}"),
              ElementsAre("default: teacher.frozen: a frozen network needs teacher.weights, a file "
                          "to stay with"));
  const std::string teacher = "}\nteacher: {weights: big.safetensors}\n";
  EXPECT_EQ(testing::spec_of(recipe + teacher, {"model.width=24"}).training.distill.teacher_width,
            48);
  EXPECT_THAT(
      problems_of(recipe +
                  ", distill: {adversarial_weight: 0, picture_weight: 0, feature_weight: "
                  "0}" +
                  teacher),
      ElementsAre(
          "job.yaml:1:62: training.distill.picture_weight: set one of "
          "training.distill.picture_weight, feature_weight and adversarial_weight above 0"));
  EXPECT_THAT(problems_of("model: {teacher_width: 64}"),
              ElementsAre("job.yaml:1:9: model.teacher_width: has no meaning for training.recipe "
                          "adversarial (it has for distill); leave it out"));
  EXPECT_THAT(
      problems_of("generator: {prune: true}"),
      ElementsAre("job.yaml:1:13: generator.prune: has no meaning for training.recipe adversarial "
                  "(it has for distill); leave it out"));
  EXPECT_THAT(problems_of(recipe + teacher + "model: {family: stylegan2}"),
              ElementsAre("job.yaml:1:12: training.recipe: recipe distill needs the role trunk, "
                          "which family stylegan2 has not; use model.family dcgan or infogan or "
                          "dense or mlp or r3gan or biggan"));
}

TEST(Rules, AStudentIsPrunedOfATeacherWhoseChannelsAreKnown) {
  const std::string job =
      "training: {recipe: distill}\nteacher: {weights: big.safetensors}\n"
      "generator: {prune: true}\n";
  const std::string place = "job.yaml:3:13: generator.prune: ";
  EXPECT_THAT(problems_of(job), ElementsAre());
  for (const std::string other :
       {"generator.weights=small.safetensors", "generator.initialization=he"}) {
    EXPECT_THAT(problems_of(job, {other}),
                ElementsAre("command line: " + other +
                            ": the generator begins with the teacher's "
                            "channels; leave generator.weights and generator.initialization out"));
  }
  EXPECT_THAT(problems_of(job, {"model.teacher_width=32"}),
              ElementsAre("command line: model.teacher_width=32: the teacher has fewer channels: "
                          "model.teacher_width is 32, model.width 64; use twice or four times the "
                          "width, or false"));
  EXPECT_THAT(problems_of(job + "model: {family: biggan}"),
              ElementsAre(place + "the channels of its blocks are not known in family biggan; use "
                                  "model.family dcgan or dense or mlp or r3gan, or false"));
}

TEST(Rules, MlpNeedsPoints) {
  EXPECT_THAT(problems_of("model: {family: mlp}"),
              ElementsAre("job.yaml:1:9: model.family: family mlp learns points, and "
                          "'fashion-mnist' has images; use "
                          "data.source toy:ring8 or toy:grid25, or another model.family"));
}

TEST(Rules, ToyDataNeedsMlp) {
  EXPECT_THAT(
      problems_of("data: {source: 'toy:ring8'}"),
      ElementsAre(
          "job.yaml:1:8: data.source: 'toy:ring8' has points, and family dcgan learns images; use "
          "model.family mlp or another data.source"));
}

TEST(Rules, ImageKeysHaveNoMeaningForPoints) {
  const std::string reason = "has no meaning for family mlp, which makes points; leave it out";
  EXPECT_THAT(problems_of("model: {family: mlp, resolution: 32, channels: 1, classes: 8}\n"
                          "data: {source: 'toy:ring8', mirror: true}\n"),
              ElementsAre("job.yaml:1:22: model.resolution: " + reason,
                          "job.yaml:1:38: model.channels: " + reason,
                          "job.yaml:1:51: model.classes: " + reason,
                          "job.yaml:2:29: data.mirror: " + reason));
}

TEST(Rules, ResolutionFitsTheFamily) {
  EXPECT_THAT(
      problems_of("model: {resolution: 48}"),
      ElementsAre(
          "job.yaml:1:9: model.resolution: family dcgan makes images of 32 or 64 pixels, not 48"));
  EXPECT_THAT(problems_of("model: {resolution: 64}"), ElementsAre());
  EXPECT_THAT(problems_of("model: {family: infogan, resolution: 32}"),
              ElementsAre("job.yaml:1:26: model.resolution: family infogan makes images of 28 "
                          "pixels, not 32; leave "
                          "model.resolution out"));
}

TEST(Rules, KeysOfLayersAndOfResidualBlocksExcludeEachOther) {
  const std::string fixed =
      "has no meaning for family r3gan (it has for dcgan, infogan, dense, mlp); leave it out";
  EXPECT_THAT(
      problems_of(
          "model: {family: r3gan, normalization: batch, activation: softplus, dropout: 0.1}"),
      ElementsAre("job.yaml:1:24: model.normalization: " + fixed,
                  "job.yaml:1:46: model.activation: " + fixed,
                  "job.yaml:1:68: model.dropout: " + fixed));
  EXPECT_THAT(problems_of("model: {blocks: 1}"),
              ElementsAre("job.yaml:1:9: model.blocks: has no meaning for family dcgan (it has "
                          "for r3gan, gat, cyclegan, johnson); leave it out"));
  EXPECT_THAT(problems_of("model: {family: r3gan, blocks: 1, resolution: 128}"), ElementsAre());
}

TEST(Rules, AttentionIsOnMapsOfBothNetworks) {
  for (const std::string side : {"0", "8", "16"}) {
    EXPECT_THAT(problems_of("model: {family: biggan, attention: " + side + "}"), ElementsAre());
  }
  for (const std::string side : {"1", "4", "12", "32", "64"}) {
    EXPECT_THAT(problems_of("model: {family: biggan, attention: " + side + "}"),
                ElementsAre("job.yaml:1:25: model.attention: family biggan has no maps of " + side +
                            " pixels in both networks; use 16, or 0"));
  }
  EXPECT_THAT(problems_of("model: {attention: 16}"),
              ElementsAre("job.yaml:1:9: model.attention: has no meaning for family dcgan (it has "
                          "for biggan); leave it out"));
}

TEST(Rules, NothingDecaysBeforeItHasGrown) {
  const std::vector<std::string> decays{"generator.optimizer.adam.weight_decay=1e-4"};
  EXPECT_THAT(problems_of("", decays), ElementsAre());
  EXPECT_THAT(problems_of("model: {family: progressive}", decays),
              ElementsAre("job.yaml:1:9: model.family: weights of later resolutions would decay "
                          "before they are trained in family progressive; use weight_decay 0"));
}

TEST(Rules, StylesAreThoseOfAPicture) {
  const testing::ScratchFolder folder;
  const std::string picture = folder.write("style.png", "\x89PNG\r\n\x1a\n").string();
  const std::vector<std::string> right{"training.recipe=style-transfer", "model.family=johnson",
                                       "features.weights=w.safetensors",
                                       "training.style.picture=" + picture};
  const auto with = [&right](const std::string& more) {
    std::vector<std::string> words = right;
    words.push_back(more);
    return problems_of("", words);
  };
  EXPECT_THAT(problems_of("", right), ElementsAre());
  EXPECT_THAT(
      with("training.style.picture=none"),
      ElementsAre("command line: training.recipe=style-transfer: recipe style-transfer needs "
                  "training.style.picture, a PNG or JPEG file"));
  EXPECT_THAT(with("training.style={weight: 0, content_weight: 0}").size(), 1U);
  EXPECT_THAT(with("training.style.content_level=3"),
              ElementsAre("command line: training.style.content_level=3: model.levels is 2, "
                          "and there is no level 3"));
  EXPECT_THAT(with("model.levels=3"),
              ElementsAre("command line: model.levels=3: the features of family johnson have 2 "
                          "levels, not 3"));
  EXPECT_THAT(with("checkpoint.keep_best=1").size(), 1U);
  EXPECT_THAT(
      with("features.frozen=false"),
      ElementsAre("command line: features.frozen=false: recipe style-transfer does not train "
                  "its features; leave frozen out"));
  EXPECT_THAT(with("features.weights=none").size(), 1U);
  EXPECT_THAT(problems_of("training: {style: {weight: 1}}"),
              ElementsAre("job.yaml:1:20: training.style.weight: has no meaning for "
                          "training.recipe adversarial (it has for style-transfer); leave it out"));
  EXPECT_THAT(problems_of("model: {family: johnson}").size(), 1U);  // no discriminator
}

TEST(Rules, PatchesFillThePicture) {
  EXPECT_THAT(problems_of("model: {family: gat, patch: 2}"), ElementsAre());
  EXPECT_THAT(problems_of("model: {family: gat, patch: 5}"),
              ElementsAre("job.yaml:1:22: model.patch: 32 pixels are no whole number of patches of "
                          "5; use 2, 4 or 8"));
  EXPECT_THAT(problems_of("model: {patch: 2}"),
              ElementsAre("job.yaml:1:9: model.patch: has no meaning for family dcgan (it has for "
                          "gat); leave it out"));
}

TEST(Rules, PicturesGrowTwofoldToTheResolution) {
  const std::string model = "model: {family: progressive}\ntraining: {growth: {from: ";
  EXPECT_THAT(problems_of(model + "32}}"), ElementsAre());
  for (const std::string from : {"12", "64"}) {
    EXPECT_THAT(problems_of(model + from + "}}"),
                ElementsAre("job.yaml:2:21: training.growth.from: pictures of " + from +
                            " pixels do not grow twofold to 32; use 4, 8, 16 or 32"));
  }
  EXPECT_THAT(
      problems_of("training: {growth: {kimg: 1}}"),
      ElementsAre("job.yaml:1:21: training.growth.kimg: has no meaning for family dcgan (it "
                  "has for progressive); leave it out"));
}

TEST(Rules, PicturesOfSeveralDepthsAreNotMixed) {
  EXPECT_THAT(
      problems_of("model: {family: gat}\ntraining: {gradient_penalty: 1}"),
      ElementsAre("job.yaml:2:12: training.gradient_penalty: family gat judges pictures of "
                  "several depths, which the penalty cannot mix with a real one; use 0, and "
                  "training.r1 and training.r2"));
  EXPECT_EQ(problems_of("model: {family: gat}\ntraining: {loss: wasserstein}").size(), 1U);
  EXPECT_THAT(problems_of("model: {family: gat}\ntraining: {r1: {gamma: 1}}"), ElementsAre());
}

TEST(Rules, PathLengthsAreThoseOfStyles) {
  EXPECT_THAT(problems_of("model: {family: stylegan2}\ntraining: {path_length: {weight: 2}}"),
              ElementsAre());
  EXPECT_THAT(problems_of("training: {path_length: {weight: 2}}"),
              ElementsAre("job.yaml:1:26: training.path_length.weight: has no meaning for family "
                          "dcgan (it has for stylegan2); leave it out"));
}

TEST(Rules, GpusTalkOverNcclAndNothingElseDoes) {
  EXPECT_THAT(problems_of("numerics: {device: cuda}"), ElementsAre());
  EXPECT_THAT(problems_of("numerics: {device: cuda}\nlayout: {transport: nccl}"), ElementsAre());
  EXPECT_THAT(problems_of("numerics: {device: cuda}\nlayout: {transport: mpi}"),
              ElementsAre("job.yaml:2:10: layout.transport: GPUs talk over nccl, and "
                          "layout.transport is mpi; leave it out, or use hierarchical or nccl"));
  EXPECT_THAT(problems_of("layout: {transport: nccl}"),
              ElementsAre("job.yaml:1:10: layout.transport: layout.transport nccl is for GPUs; use "
                          "numerics.device cuda, or another transport"));
  EXPECT_THAT(problems_of("numerics: {device: cuda}\nlayout: {audit: true}"), ElementsAre());
}

TEST(Rules, NcclsOrderOfSumsIsForPlainJobsOnGpus) {
  EXPECT_THAT(problems_of("numerics: {device: cuda, order: nccl}"), ElementsAre());
  EXPECT_EQ(problems_of("numerics: {device: cuda, order: nccl, wire: bf16}").size(), 1U);
  EXPECT_THAT(
      problems_of("numerics: {device: cuda, order: nccl}\nlayout: {transport: hierarchical}"),
      ElementsAre(::testing::HasSubstr("layout.transport: with numerics.order nccl NCCL")));
  EXPECT_EQ(problems_of("numerics: {device: cuda, order: nccl}\ngenerator: {clip_norm: 1}").size(),
            1U);
  EXPECT_THAT(problems_of("numerics: {order: nccl}"),
              ElementsAre("job.yaml:1:12: numerics.order: has a meaning for numerics.device cuda "
                          "alone; leave it out"));
}

TEST(Rules, NetworksOnGpusMayBeApartAndCutInTheJobsOrderOfSums) {
  EXPECT_THAT(problems_of("numerics: {device: cuda}\nlayout: {stages: 2}"
                          "\ngenerator: {clip_norm: 1}"),
              ElementsAre());
  EXPECT_THAT(problems_of("numerics: {device: cuda}\nlayout: {generator: [1], discriminator: [2]}"),
              ElementsAre());
  EXPECT_THAT(problems_of("numerics: {device: cuda, order: nccl}\nlayout: {stages: 2}"),
              ElementsAre(::testing::HasSubstr("numerics.order nccl sums over all workers")));
}

TEST(Rules, Tf32IsForGpus) {
  EXPECT_THAT(problems_of("numerics: {precision: tf32}"),
              ElementsAre(::testing::HasSubstr("numerics.precision tf32 is what GPUs make of "
                                               "float32, and numerics.device is cpu; use fp32, "
                                               "bf16 or auto")));
  EXPECT_EQ(problems_of("numerics: {precision: {discriminator: tf32}}").size(), 1U);
  EXPECT_THAT(problems_of("numerics: {precision: tf32, device: cuda}"), ElementsAre());
  EXPECT_THAT(problems_of("numerics: {precision: fp16}"), ElementsAre());
  EXPECT_THAT(problems_of("numerics: {precision: fp16, device: cuda}"), ElementsAre());
  EXPECT_EQ(problems_of("numerics: {precision: fp16, device: cuda, order: nccl}").size(), 1U);
}

TEST(Rules, ImagesAreGreyOrColoured) {
  EXPECT_THAT(
      problems_of("model: {channels: 2}"),
      ElementsAre("job.yaml:1:9: model.channels: images have 1 (grey) or 3 (RGB) channels, not 2"));
  EXPECT_THAT(problems_of("model: {channels: 3}"), ElementsAre());
}

TEST(Rules, FashionMnistHasTenLabels) {
  EXPECT_THAT(problems_of("model: {classes: 9}"),
              ElementsAre("job.yaml:1:9: model.classes: fashion-mnist has 10 labels, not 9; use "
                          "10, or 0 to train without "
                          "labels"));
  EXPECT_THAT(problems_of("model: {classes: 10}"), ElementsAre());
  EXPECT_THAT(problems_of("model: {classes: 9}\ndata: {source: 'idx:/x'}"), ElementsAre());
}

TEST(Rules, StackedClothesHaveThreeChannelsAndAThousandLabels) {
  const std::string source = "\ndata: {source: 'stacked:fashion-mnist'}";
  EXPECT_THAT(problems_of("model: {channels: 3, classes: 1000}" + source), ElementsAre());
  EXPECT_THAT(problems_of("model: {channels: 1}" + source),
              ElementsAre("job.yaml:1:9: model.channels: stacked:fashion-mnist shows a garment in "
                          "each of 3 channels; use model.channels 3, not 1"));
  EXPECT_THAT(problems_of("model: {channels: 3, classes: 10}" + source),
              ElementsAre("job.yaml:1:22: model.classes: stacked:fashion-mnist has 1000 labels, "
                          "not 10; use 1000, or 0 to train without labels"));
}

TEST(Rules, BatchIsAMultipleOfTheMicrobatches) {
  EXPECT_THAT(problems_of("training: {batch: 65, microbatches: 2}"),
              ElementsAre("job.yaml:1:12: training.batch: training.batch 65 cannot be cut into "
                          "training.microbatches 2 equal "
                          "pieces; use a batch of 64 or 66"));
  EXPECT_THAT(problems_of("training: {batch: 2, microbatches: 4}"),
              ElementsAre("job.yaml:1:12: training.batch: training.batch 2 cannot be cut into "
                          "training.microbatches 4 equal "
                          "pieces; use a batch of 4"));
}

TEST(Rules, DenseBatchNormNeedsTwoExamples) {
  EXPECT_THAT(
      problems_of("model: {family: infogan}\ntraining: {batch: 4, microbatches: 4}"),
      ElementsAre(
          "job.yaml:2:22: training.microbatches: a micro-batch of one example has no batch "
          "statistics, which "
          "family infogan needs here; use fewer training.microbatches or a larger training.batch"));
  const std::string points =
      "model: {family: mlp, normalization: NORM}\ndata: {source: 'toy:ring8'}\n"
      "training: {batch: 4, microbatches: 4}";
  const auto with = [&](const std::string& norm) {
    return std::string(points).replace(points.find("NORM"), 4, norm);
  };
  EXPECT_EQ(problems_of(with("batch")).size(), 1U);
  EXPECT_EQ(problems_of(with("auto")).size(), 0U);
  EXPECT_THAT(problems_of("training: {batch: 4, microbatches: 4}"), ElementsAre());
}

TEST(Rules, EveryWorkerHasAMicrobatch) {
  EXPECT_THAT(problems_of("layout: {data: 3}\ntraining: {microbatches: 2}"),
              ElementsAre("job.yaml:1:10: layout.data: layout.data 3 workers cannot share "
                          "training.microbatches 2: some would "
                          "have none; use at most 2 workers or more micro-batches"));
  EXPECT_THAT(problems_of("layout: {data: 2}"), ElementsAre());
}

TEST(Rules, TakeTheTensorShardThatEarlierVersionsWroteDown) {
  EXPECT_THAT(problems_of("layout: {stages: 2, tensor: 1}"), ElementsAre());
  EXPECT_THAT(problems_of("layout: {stages: 2, tensor: 4}"),
              ElementsAre(::testing::StartsWith("job.yaml:1:21: layout.tensor: unknown key")));
}

TEST(Rules, StepDecayNeedsALength) {
  EXPECT_THAT(problems_of("generator: {schedule: {decay: step}}\ndiscriminator: {schedule: {decay: "
                          "step, step_kimg: 0}}"),
              ElementsAre("job.yaml:1:24: generator.schedule.decay: decay step needs "
                          "generator.schedule.step_kimg above 0, or milestones",
                          "job.yaml:2:28: discriminator.schedule.decay: decay step needs "
                          "discriminator.schedule.step_kimg above 0, or milestones"));
  EXPECT_THAT(problems_of("generator: {schedule: {decay: step, step_kimg: 5}}"), ElementsAre());
}

TEST(Rules, BlameTheLayerNearestToTheUser) {
  EXPECT_THAT(
      problems_of("training: {batch: 64}", {"training.microbatches=3"}),
      ElementsAre("command line: training.microbatches=3: training.batch 64 cannot be cut into "
                  "training.microbatches 3 equal pieces; use a batch of 63 or 66"));
  EXPECT_THAT(
      problems_of("training: {batch: 64}", {}, {{"GANGWAY_TRAINING_MICROBATCHES", "3"}}),
      ElementsAre(
          "environment: GANGWAY_TRAINING_MICROBATCHES=3: training.batch 64 cannot be cut into "
          "training.microbatches 3 equal pieces; use a batch of 63 or 66"));
}

TEST(Rules, DoNotJudgeWhatIsFaultyAlready) {
  EXPECT_THAT(problems_of("training: {batch: x, microbatches: 3}"),
              ElementsAre("job.yaml:1:12: training.batch: expected a whole number, not 'x'"));
}

TEST(Rules, HoldForTheDefaults) {
  for (const Rule& rule : job_rules()) {
    EXPECT_EQ(rule.complaint(JobSpec{}), "") << rule.statement;
    EXPECT_FALSE(rule.keys.empty());
  }
}

}  // namespace
}  // namespace gangway
