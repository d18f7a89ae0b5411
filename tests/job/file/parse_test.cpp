// SPDX-License-Identifier: MIT
#include "job/file/parse.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using testing::problems_of;
using ::testing::SizeIs;
using testing::sources_of;
using testing::spec_of;

std::pair<WireFormat, WireFormat> wires_of(const JobSpec& job) {
  return {job.network("generator").wire, job.network("discriminator").wire};
}

TEST(Parse, GivesDefaultsForNothing) {
  JobSpec expected;
  expected.model.normalization = Normalization::kBatch;
  EXPECT_EQ(load_job({}).spec, expected);
  EXPECT_EQ(spec_of(""), expected);
}

TEST(Parse, ReadsEveryKindOfValue) {
  const JobSpec spec = spec_of(R"(
model: {family: dcgan, resolution: 64, width: 32, latent: 64, channels: 3, activation: softplus, dropout: 0.25}
data: {source: 'idx:/data', mirror: true, prefetch: 8}
training: {kimg: 12.5, batch: 96, microbatches: 3, seed: 18446744073709551615, loss: least-squares, r1: {gamma: 10, interval: 4}}
generator: {optimizer: {adamw: {lr: 1e-3, betas: [0, 0.9], eps: 1e-6, weight_decay: 0.01}}, clip_norm: 2, ema_kimg: 0}
discriminator: {steps: 5, schedule: {warmup_kimg: 1, decay: step, step_kimg: 7, step_factor: 0.5, final_factor: 0.25}}
numerics: {threads: 2, memory_format: contiguous, wire: {generator: bf16, discriminator: fp16}, device: cpu}
layout: {data: 3, stages: 1, tensor: 1, transport: mpi, timeout_seconds: 5}
checkpoint: {every_kimg: 0, snapshot_steps: auto, keep: 1}
output: {tick_kimg: 0.5, pictures_kimg: 0, grid: 4}
)");
  EXPECT_EQ(spec.model.resolution, 64);
  EXPECT_EQ(spec.model.channels, 3);
  EXPECT_EQ(spec.model.activation, Activation::kSoftplus);
  EXPECT_EQ(spec.model.dropout, 0.25);
  EXPECT_EQ(spec.data,
            (DataSpec{.source = "idx:/data", .mirror = true, .prefetch = 8, .read_seconds = 5}));
  EXPECT_EQ(spec.training.seed, 18446744073709551615U);
  EXPECT_EQ(spec.training.loss, LossKind::kLeastSquares);
  EXPECT_EQ(spec.training.penalty.r1_interval, 4);
  EXPECT_EQ(spec.network("generator").optimizer.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(spec.network("generator").optimizer.betas[1], 0.9);
  EXPECT_EQ(spec.network("generator").clip_norm, 2.0);
  EXPECT_EQ(spec.network("generator").ema_kimg, 0.0);
  EXPECT_EQ(spec.network("discriminator").steps, 5);
  EXPECT_EQ(spec.network("discriminator").schedule.decay, DecayKind::kStep);
  EXPECT_EQ(spec.network("discriminator").schedule.step_factor, 0.5);
  EXPECT_EQ(spec.numerics.memory_format, MemoryFormat::kContiguous);
  EXPECT_EQ(wires_of(spec), std::pair(WireFormat::kBf16, WireFormat::kFp16));
  EXPECT_EQ(spec.layout.data, 3);
  EXPECT_EQ(spec.layout.transport, TransportKind::kMpi);
  EXPECT_EQ(spec.checkpoint, (CheckpointSpec{.every_kimg = 0, .keep = 1}));
  EXPECT_EQ(spec.output.grid, 4);
}

TEST(Parse, LetsTheFileBeatDefaultsTheEnvironmentTheFileAndTheCommandLineAll) {
  const std::string file = "training: {kimg: 2}";
  EXPECT_EQ(spec_of(file).training.kimg, 2.0);
  EXPECT_EQ(spec_of(file, {}, {{"GANGWAY_TRAINING_KIMG", "3"}}).training.kimg, 3.0);
  EXPECT_EQ(spec_of(file, {"training.kimg=4"}, {{"GANGWAY_TRAINING_KIMG", "3"}}).training.kimg,
            4.0);
  EXPECT_EQ(spec_of(file, {"training.kimg=4", "training.kimg=5"}).training.kimg, 5.0);
}

TEST(Parse, TakesMapsAndListsOnTheCommandLine) {
  const JobSpec spec = spec_of(
      "", {"generator.optimizer.adam.betas=[0, 0.9]", "training={batch: 8, microbatches: 4}"});
  EXPECT_EQ(spec.network("generator").optimizer.betas, (std::array<double, 2>{0.0, 0.9}));
  EXPECT_EQ(spec.training.microbatches, 4);
}

TEST(Parse, TakesAutoForTheNumberOfWorkers) {
  EXPECT_EQ(spec_of("layout: {data: 2}", {"layout.data=auto"}).layout.data, 0);
  EXPECT_THAT(problems_of("layout: {data: 0}"),
              ElementsAre("job.yaml:1:10: layout.data: 0 is out of range; allowed: 1 to 65536"));
  EXPECT_THAT(problems_of("layout: {data: many}"),
              ElementsAre("job.yaml:1:10: layout.data: expected a whole number, not 'many'"));
}

TEST(Parse, ChangesTheOptimizerByNamingAnother) {
  const std::string file = "generator: {optimizer: {adam: {lr: 0.5, betas: [0, 0.5]}}}";
  const OptimizerSpec changed =
      spec_of(file, {"generator.optimizer.adamw.eps=1e-3"}).network("generator").optimizer;
  EXPECT_EQ(changed, (OptimizerSpec{.kind = OptimizerKind::kAdamW, .eps = 1e-3}));
  EXPECT_EQ(spec_of(file, {"generator.optimizer={adamw: }"}).network("generator").optimizer.lr,
            OptimizerSpec{}.lr);
  const OptimizerSpec kept =
      spec_of(file, {"generator.optimizer.adam.eps=1e-3"}).network("generator").optimizer;
  EXPECT_EQ(kept.lr, 0.5);
  EXPECT_EQ(kept.eps, 1e-3);
}

TEST(Parse, KnowsTheOnlyResolutionOfInfogan) {
  EXPECT_EQ(spec_of("model: {family: infogan}").model.resolution, 28);
}

TEST(Parse, GivesWassersteinItsPenaltyUnlessToldOtherwise) {
  EXPECT_EQ(spec_of("training: {loss: wasserstein}").training.penalty.gradient_penalty, 10.0);
  EXPECT_EQ(spec_of("training: {loss: wasserstein, gradient_penalty: 0}")
                .training.penalty.gradient_penalty,
            0.0);
  EXPECT_EQ(spec_of("training: {loss: hinge}").training.penalty.gradient_penalty, 0.0);
}

TEST(Parse, GivesGpusInFp32ContiguousImagesUnlessToldOtherwise) {
  const auto format = [](const std::vector<std::string>& keys) {
    return spec_of("", keys).numerics.memory_format;
  };
  using enum MemoryFormat;
  EXPECT_EQ(format({}), kChannelsLast);
  EXPECT_EQ(format({"numerics.device=cuda"}), kContiguous);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.memory_format=channels-last"}),
            kChannelsLast);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.precision=tf32"}), kChannelsLast);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.precision={discriminator: bf16}"}),
            kChannelsLast);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.precision=auto"}), kAuto);
  EXPECT_EQ(format({"numerics.precision=auto"}), kChannelsLast);
}

TEST(Parse, SettlesNormalization) {
  const auto normalization = [](const std::string& text) {
    return spec_of(text).model.normalization;
  };
  EXPECT_EQ(normalization(""), Normalization::kBatch);
  EXPECT_EQ(normalization("training: {loss: wasserstein}"), Normalization::kNone);
  EXPECT_EQ(normalization("training: {r1: {gamma: 1}}"), Normalization::kNone);
  EXPECT_EQ(normalization("model: {family: mlp}\ndata: {source: 'toy:ring8'}"),
            Normalization::kNone);
  EXPECT_EQ(normalization("model: {normalization: batch}\ntraining: {loss: wasserstein}"),
            Normalization::kBatch);
  EXPECT_EQ(normalization("model: {normalization: none}"), Normalization::kNone);
}

TEST(Parse, KnowsTheNetworksOfTheRecipeThatIsNamed) {
  const JobSpec spec = spec_of(R"(
model: {family: dense}
training: {recipe: vae, kl_weight: 2}
encoder: {optimizer: {adam: {lr: 1e-3}}}
)",
                               {"decoder.ema_kimg=0", "numerics.wire={encoder: bf16}"});
  EXPECT_EQ(spec.training.recipe->name, "vae");
  EXPECT_EQ(spec.network("encoder").optimizer.lr, 1e-3);
  EXPECT_EQ(spec.network("encoder").wire, WireFormat::kBf16);
  EXPECT_EQ(spec.network("decoder").ema_kimg, 0.0);
  EXPECT_EQ(spec.images_per_step(), spec.training.batch);
  EXPECT_EQ(spec_of(to_yaml(spec)), spec);
  EXPECT_EQ(spec_of("", {"training.recipe=vae", "model.family=mlp", "data.source=toy:ring8"})
                .training.autoencoder.reconstruction,
            Reconstruction::kSquared);
}

TEST(Parse, KnowsTheNetworksThatAJobNamesItself) {
  const std::string text = R"(
model: {student: {python: nets.py:Student, width: 8}, critic: nets.py:Critic, teacher: nets.py:Teacher}
training: {recipe: [student, critic, teacher], step: step.py:Step, batch: 8}
critic: {steps: 5, optimizer: {adam: {lr: 1e-3}}}
teacher: {frozen: true}
)";
  const JobSpec spec =
      parse_job(text + "student: {ema_kimg: 2}\nnumerics: {wire: {critic: bf16}}\n", "job.yaml");
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  EXPECT_EQ(spec.network("critic").optimizer.lr, 1e-3);
  EXPECT_EQ(spec.network("critic").wire, WireFormat::kBf16);
  EXPECT_EQ(spec.network("student").ema_kimg, 2.0);
  EXPECT_EQ(spec.network("critic").ema_kimg, 0.0);
  EXPECT_EQ(spec.shown_network(), spec.id_of("student"));
  EXPECT_EQ(spec.images_per_step(), 5 * 8);
  EXPECT_THAT(to_yaml(spec), ::testing::HasSubstr("recipe: [student, critic, teacher]"));
  EXPECT_THAT(problems_of(text, {"critic.stepps=2"}),
              ElementsAre(::testing::HasSubstr("did you mean 'critic.steps'")));
  EXPECT_THAT(problems_of(text, {"generator.ema_kimg=2"}),
              ElementsAre(::testing::HasSubstr("unknown key")));
  EXPECT_THAT(problems_of(text, {"training.loss=hinge"}),
              ElementsAre(::testing::HasSubstr("has no meaning")));
}

TEST(Parse, SettlesWhatTheUsersExamplesAreMadeOf) {
  const auto taken = [](const std::string& job, const std::string& source) {
    return parse_job(job + "\ndata: {source: '" + source + "'}", "job.yaml").data.takes;
  };
  const std::string step =
      "model: {net: net.py:Net}\ntraining: {recipe: [net], step: step.py:Step, batch: 8}";
  EXPECT_EQ(taken("model: {family: dense}", "data.py:Faces"), ExampleKind::kPicture);
  EXPECT_EQ(taken("model: {family: unet}\ntraining: {recipe: pix2pix}", "data.py:Faces"),
            ExampleKind::kPair);
  EXPECT_EQ(taken("model: {family: cyclegan}\ntraining: {recipe: cyclegan}", "data.py:Faces"),
            ExampleKind::kTwoPictures);
  EXPECT_EQ(taken(step, "data.py:Faces"), ExampleKind::kAny);
  EXPECT_EQ(taken(step, "fashion-mnist"), ExampleKind::kPicture);
}

TEST(Parse, RefusesNamesOfNetworksThatCannotBe) {
  const auto problem = [](const std::string& names, const std::string& other = "training.batch=8") {
    return problems_of("", {"training.recipe=" + names, other});
  };
  using ::testing::Contains;
  using ::testing::HasSubstr;
  EXPECT_THAT(problem("[]"), Contains(HasSubstr("has 0 networks; a job has 1 to 8")));
  EXPECT_THAT(problem("[a, b, c, d, e, f, g, h, i]"), Contains(HasSubstr("has 9 networks")));
  EXPECT_THAT(problem("[a, B]"), Contains(HasSubstr("lower-case letters, digits and _")));
  EXPECT_THAT(problem("[a, [b]]"), Contains(HasSubstr("lower-case letters, digits and _")));
  EXPECT_THAT(problem("[a, a]"), Contains(HasSubstr("names the network a twice")));
  for (const std::string word : {"training", "latent", "stages", "evaluation"}) {
    EXPECT_THAT(problem("[" + word + "]"), Contains(HasSubstr("is a word of job files")));
  }
  EXPECT_THAT(problem("[a, b]"), Contains(HasSubstr("give training.step a class")));
  EXPECT_THAT(problem("[a, b]", "training.step=step.py:Step"),
              Contains(HasSubstr("give model.a a class")));
  EXPECT_THAT(problem("[a, b]", "training.step=step.py:Step"),
              ::testing::Not(Contains(HasSubstr("needs the role"))));
}

TEST(Parse, RefusesWhatTheRecipeHasNoUseFor) {
  EXPECT_THAT(
      problems_of("training: {recipe: vae, loss: hinge}"),
      ElementsAre("job.yaml:1:25: training.loss: has no meaning for training.recipe vae "
                  "(it has for adversarial, infogan, vae-gan, pix2pix, cyclegan, distill); leave "
                  "it out"));
  EXPECT_THAT(problems_of("training: {kl_weight: 2}"),
              ElementsAre("job.yaml:1:12: training.kl_weight: has no meaning for training.recipe "
                          "adversarial (it has for vae, vae-gan); leave it out"));
  EXPECT_THAT(problems_of("", {"training.recipe=vae", "generator.ema_kimg=1"}),
              ElementsAre(::testing::HasSubstr("generator.ema_kimg=1: unknown key")));
  EXPECT_THAT(
      problems_of("", {"training.recipe=vae", "model.family=infogan"}),
      ElementsAre("command line: training.recipe=vae: recipe vae needs the role encoder, which "
                  "family infogan has not; use model.family dcgan or dense or mlp"));
}

TEST(Parse, TakesTheWiresFormatForBothNetworksOrByNetwork) {
  const auto wire = [](const std::string& text) {
    return wires_of(spec_of("numerics:\n  wire: " + text));
  };
  using enum WireFormat;
  EXPECT_EQ(wire("bf16"), std::pair(kBf16, kBf16));
  EXPECT_EQ(wire("{generator: bf16, discriminator: fp16}"), std::pair(kBf16, kFp16));
  EXPECT_EQ(wire("{discriminator: bf16}"), std::pair(kFp32, kBf16));
  EXPECT_EQ(wires_of(spec_of("numerics: {wire: {generator: bf16}}", {"numerics.wire=fp16"})),
            std::pair(kFp16, kFp16));
  EXPECT_EQ(wires_of(spec_of(to_yaml(spec_of("", {"numerics.wire={generator: bf16}"})))),
            std::pair(kBf16, kFp32));
}

TEST(Parse, TakesThePrecisionForBothNetworksOrByNetwork) {
  const auto precision = [](const std::string& text) {
    const JobSpec spec = spec_of("numerics:\n  precision: " + text);
    return std::pair(spec.network("generator").precision, spec.network("discriminator").precision);
  };
  using enum Precision;
  EXPECT_EQ(precision("fp16"), std::pair(kFp16, kFp16));
  EXPECT_EQ(precision("{discriminator: bf16}"), std::pair(kFp32, kBf16));
  EXPECT_EQ(precision("auto"), std::pair(kAuto, kAuto));
  EXPECT_THAT(problems_of("numerics: {precision: {encoder: bf16}}"),
              ElementsAre("job.yaml:1:12: numerics.precision: encoder: no such network; expected "
                          "generator, discriminator"));
}

TEST(Parse, RefusesAWireFormatOrANetworkThatItDoesNotKnow) {
  EXPECT_THAT(problems_of("numerics: {wire: bf61}"),
              ElementsAre("job.yaml:1:12: numerics.wire: expected fp32, bf16, fp16, not 'bf61'; "
                          "did you mean 'bf16'?"));
  EXPECT_THAT(problems_of("numerics: {wire: {generator: 16}}"),
              ElementsAre("job.yaml:1:12: numerics.wire: generator: expected fp32, bf16, fp16, not "
                          "'16'"));
  EXPECT_THAT(problems_of("numerics: {wire: {encoder: bf16}}"),
              ElementsAre("job.yaml:1:12: numerics.wire: encoder: no such network; expected "
                          "generator, discriminator"));
  EXPECT_THAT(problems_of("numerics: {wire: [bf16]}"),
              ElementsAre("job.yaml:1:12: numerics.wire: expected fp32, bf16, fp16, not a list"));
}

TEST(Parse, NamesThePlaceTheKeyAndWhatIsExpected) {
  EXPECT_THAT(problems_of("training:\n  kimg: abc\n"),
              ElementsAre("job.yaml:2:3: training.kimg: expected a number, not 'abc'"));
  EXPECT_THAT(problems_of("", {"training.kimg=abc"}),
              ElementsAre("command line: training.kimg=abc: expected a number, not 'abc'"));
  EXPECT_THAT(problems_of("", {"training.kimg="}),
              ElementsAre("command line: training.kimg=: expected a number, not nothing"));
  EXPECT_THAT(problems_of("", {}, {{"GANGWAY_TRAINING_KIMG", "abc"}}),
              ElementsAre("environment: GANGWAY_TRAINING_KIMG=abc: expected a number, not 'abc'"));
  EXPECT_THAT(problems_of("data: {mirror: yes}"),
              ElementsAre("job.yaml:1:8: data.mirror: expected true, false, not 'yes'"));
  EXPECT_THAT(problems_of("training: {loss: hinje}"),
              ElementsAre("job.yaml:1:12: training.loss: expected nonsaturating, least-squares, "
                          "hinge, wasserstein, "
                          "relativistic, not 'hinje'; did you mean 'hinge'?"));
}

TEST(Parse, TakesSnapshotStepsAsAutoNumberOrNever) {
  EXPECT_EQ(spec_of("").checkpoint.snapshot_steps, CheckpointSpec::kAutoSnapshots);
  EXPECT_EQ(spec_of("checkpoint: {snapshot_steps: auto}").checkpoint.snapshot_steps,
            CheckpointSpec::kAutoSnapshots);
  EXPECT_EQ(spec_of("checkpoint: {snapshot_steps: 0}").checkpoint.snapshot_steps, 0);
  EXPECT_EQ(spec_of("checkpoint: {snapshot_steps: 25}").checkpoint.snapshot_steps, 25);
}

TEST(Parse, TakesCheckpointsByImagesTimeAndSteps) {
  const CheckpointSpec checkpoint =
      spec_of("checkpoint: {every_kimg: 0, every_seconds: 90, every_steps: 50, keep_every: 25}")
          .checkpoint;
  EXPECT_EQ(checkpoint.every_kimg, 0.0);
  EXPECT_EQ(checkpoint.every_seconds, 90.0);
  EXPECT_EQ(checkpoint.every_steps, 50);
  EXPECT_EQ(checkpoint.keep_every, 25.0);
}

TEST(Parse, TakesAFileOfWeightsOrNone) {
  EXPECT_EQ(spec_of("generator: {weights: old.safetensors}").network("generator").weights,
            "old.safetensors");
  EXPECT_EQ(spec_of("generator: {weights: none}").network("generator").weights, "");
  EXPECT_THAT(problems_of("discriminator: {weights: [a]}"), SizeIs(1));
}

/// A setting on the command line that is out of range.
class OutOfRange : public ::testing::TestWithParam<const char*> {};

TEST_P(OutOfRange, IsRefused) {
  const auto problems = problems_of("", {GetParam()});
  ASSERT_EQ(problems.size(), 1U) << GetParam();
  EXPECT_NE(problems[0].find(" is out of range; allowed: "), std::string::npos) << problems[0];
}

INSTANTIATE_TEST_SUITE_P(
    Parse, OutOfRange,
    ::testing::Values("model.width=0", "model.latent=0", "model.channels=4", "model.classes=-1",
                      "model.dropout=1", "data.prefetch=0", "data.threads=9", "training.kimg=0",
                      "training.kimg=-1", "training.kimg=1e300", "training.batch=0",
                      "training.microbatches=0", "training.seed=-1", "training.gradient_penalty=-1",
                      "training.r1.gamma=-1", "training.r2.gamma=-1", "training.r1.interval=0",
                      "generator.optimizer.adam.lr=0", "generator.optimizer.adam.betas=[0.5, 1]",
                      "generator.optimizer.adam.betas=[-0.1, 0.5]",
                      "generator.optimizer.adam.eps=0", "generator.optimizer.adamw.weight_decay=-1",
                      "generator.schedule.warmup_kimg=-1", "generator.schedule.step_factor=0",
                      "generator.schedule.final_factor=-1", "generator.clip_norm=-1",
                      "generator.ema_kimg=-1", "discriminator.steps=0", "numerics.threads=0",
                      "layout.timeout_seconds=0", "checkpoint.every_kimg=-1", "checkpoint.keep=0",
                      "output.tick_kimg=0", "output.pictures_kimg=-1", "output.grid=0",
                      "output.histograms_kimg=-1"));

TEST(Parse, RefusesPlacesOfNetworksThatCannotBe) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"layout.generator=[2, 1]"}, "expected ranks in ascending order"},
      {{"layout.cuts.generator=[2, 1]"}, "expected blocks in ascending order"},
      {{"layout.stages=2", "layout.schedule=pipedream"}, "expected fill, gpipe, 1f1b, zero-bubble"},
      {{"layout.stages=2", "numerics.precision=fp16"}, "fp16 needs one loss scale"},
      {{"layout.generator=[1]", "layout.discriminator=[2]", "numerics.precision=fp16"},
       "fp16 needs one loss scale"},
      {{"layout.stages=2", "training.divergence.diversity=0.001"},
       "keep it whole with layout.cuts.discriminator []"}};
  for (const auto& [words, part] : refused) {
    EXPECT_THAT(problems_of("", words), ElementsAre(::testing::HasSubstr(part))) << words.back();
  }
}

TEST(Parse, CollectsAllProblemsAtOnce) {
  const auto problems = problems_of("model: {famly: dcgan}\ntraining: {kimg: x, batch: 7}\n",
                                    {"layout.data=9"}, {{"GANGWAY_OUTPUT_GRID", "0"}});
  EXPECT_THAT(problems,
              ElementsAre("job.yaml:1:9: model.famly: unknown key; did you mean 'model.family'?",
                          "job.yaml:2:12: training.kimg: expected a number, not 'x'",
                          "environment: GANGWAY_OUTPUT_GRID=0: 0 is out of range; allowed: 1 to 64",
                          "job.yaml:2:21: training.batch: training.batch 7 cannot be cut into "
                          "training.microbatches 2 equal "
                          "pieces; use a batch of 6 or 8",
                          "command line: layout.data=9: layout.data 9 workers cannot share "
                          "training.microbatches 2: some "
                          "would have none; use at most 2 workers or more micro-batches"));
}

TEST(Parse, PutsEachProblemOnALineOfItsOwn) {
  const JobFileError error({"a", "b"});
  EXPECT_STREQ(error.what(), "a\nb");
  EXPECT_EQ(error.code(), ExitCode::kUsage);
}

TEST(Parse, NamesTheRunAfterTheFile) { EXPECT_EQ(load_job(sources_of("")).name, "job"); }

TEST(Parse, ReadsAFile) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "gangway-parse.yaml";
  std::ofstream(path) << "training: {kimg: 7}\n";
  JobSources sources;
  sources.file = path;
  EXPECT_EQ(load_job(sources).spec.training.kimg, 7.0);
  EXPECT_EQ(load_job(sources).name, "gangway-parse");
  std::filesystem::remove(path);
}

std::vector<std::string> problems_of_file(const std::filesystem::path& path) {
  JobSources sources;
  sources.file = path;
  try {
    (void)load_job(sources);
  } catch (const JobFileError& error) {
    return error.problems();
  }
  return {};
}

TEST(Parse, RefusesAFileThatCannotBeRead) {
  EXPECT_THAT(
      problems_of_file("nowhere/job.yaml"),
      ElementsAre("nowhere/job.yaml: no such file; job files to begin with are in examples/"));
  EXPECT_THAT(problems_of_file("."), ElementsAre(".: is a folder; name a job file in it"));
  EXPECT_THAT(
      problems_of_file("docs/job-file.md/x.yaml"),
      ElementsAre(
          "docs/job-file.md/x.yaml: Not a directory; job files to begin with are in examples/"));
}

TEST(Parse, ReadsNoMoreThanTheLimitOfAnEndlessFile) {
  EXPECT_THAT(problems_of_file("/dev/zero"),
              ElementsAre("/dev/zero: larger than 1024 KiB; a job is a page of text"));
}

TEST(Parse, ReadsAResolvedJob) {
  EXPECT_EQ(parse_job("training: {kimg: 3}", "welcome").training.kimg, 3.0);
}

}  // namespace
}  // namespace gangway
