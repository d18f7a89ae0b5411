// SPDX-License-Identifier: MIT
#include "job/estimate/dry_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "job/estimate/device_estimate.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using testing::spec_of;

std::string refusal(const JobSpec& spec, int workers) {
  try {
    require_workers(spec, workers);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "fits";
}

TEST(DryRun, RefusesMoreWorkersThanMicrobatches) {
  EXPECT_EQ(refusal(spec_of(""), 3),
            "3 workers cannot share training.microbatches 2: some would have none; use -n 2 or "
            "fewer, or more micro-batches "
            "(that changes the numbers)");
  EXPECT_EQ(refusal(spec_of(""), 2), "fits");
}

TEST(DryRun, RefusesNoWorkers) {
  EXPECT_EQ(refusal(spec_of(""), 0),
            "0 workers: a job needs at least one; start mpirun with -n 2 or more (one rank "
            "coordinates), or gangway run with "
            "-n 1 or more");
}

TEST(DryRun, RefusesAnotherNumberOfWorkersThanTheJobAsksFor) {
  EXPECT_EQ(refusal(spec_of("layout: {data: 2}"), 1),
            "layout.data asks for 2 workers, but 1 were started; use -n 2 or layout.data=auto");
  EXPECT_EQ(refusal(spec_of("layout: {data: 2}"), 2), "fits");
}

TEST(DryRun, RefusesMoreSumsThanAGpuAddsUp) {
  const auto job = [](const char* device, int microbatches) {
    return spec_of(
        fmt::format("training: {{batch: 1536, microbatches: {}}}\nnumerics: {{device: {}}}",
                    microbatches, device));
  };
  EXPECT_EQ(refusal(job("cuda", 256), 128), "fits") << "one each";
  EXPECT_EQ(refusal(job("cuda", 768), 100),
            "the workers of a network bring 304 sums of training.microbatches 768, and a GPU adds "
            "up 128 at most; use fewer workers, or a power of two of them that divides the "
            "micro-batches, so that each brings one");
  EXPECT_EQ(refusal(job("cpu", 768), 100), "fits");
  EXPECT_EQ(refusal(job("cuda", 192), 129).substr(0, 39),
            "the workers of a network bring 171 sums");
}

TEST(DryRun, PrintsJobPlacementStepsParametersAndMemory) {
  const JobSpec spec = spec_of("training: {kimg: 1, batch: 60, microbatches: 3}");
  const std::string text = describe_dry_run(spec, 2);
  EXPECT_EQ(text.find(chosen_yaml(spec) + "\nPlacement: "), 0U);
  for (const char* part :
       {"Placement: 2 workers, 3 micro-batches of 20 images\n", "     0  coordinator  -\n",
        "     1  worker       0\n", "     2  worker       1-2\n", "Steps: 17 of 60 real images\n",
        "Parameters: generator 1066880, discriminator 661248\n", "  weights ", "  total "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_NE(describe_dry_run(spec, 1).find("Placement: 1 worker,"), std::string::npos);
  EXPECT_THROW((void)describe_dry_run(spec, 4), ConfigError);
}

TEST(DryRun, SaysThatAJobIsInexact) {
  const std::string line = "\nNumerics: inexact, as declared by numerics.wire=bf16: ";
  EXPECT_NE(describe_dry_run(spec_of("", {"numerics.wire=bf16"}), 1).find(line), std::string::npos);
  EXPECT_EQ(describe_dry_run(spec_of(""), 1).find("Numerics: "), std::string::npos);
}

TEST(DryRun, EstimatesLessMemoryWithoutTheAverageAndOnMoreWorkers) {
  const JobSpec spec = spec_of("training: {microbatches: 4}");
  const MemoryEstimate one = estimate_memory(spec, 1);
  const MemoryEstimate four = estimate_memory(spec, 4);
  EXPECT_EQ(one.optimizer_bytes, 4 * four.optimizer_bytes);
  EXPECT_EQ(one.gradients_bytes,
            3 * four.gradients_bytes);  // a stack of two partial sums for four micro-batches
  EXPECT_GT(one.weights_bytes,
            estimate_memory(spec_of("generator: {ema_kimg: 0}"), 1).weights_bytes);
  EXPECT_GT(one.total_bytes(), four.total_bytes());
}

TEST(DryRun, EstimatesWhatMicrobatchesThatAreComputedAtOnceKeep) {
  const auto estimate = [](const char* graphs, int workers) {
    return estimate_memory(spec_of("training: {microbatches: 8}\ngenerator: {ema_kimg: 0}",
                                   {"numerics.device=cuda", std::string(graphs)}),
                           workers);
  };
  const MemoryEstimate one = estimate("numerics.cuda_graph=on", 1);
  const MemoryEstimate beside = estimate("numerics.cuda_graph=branches", 1);
  EXPECT_EQ(beside.recorded_bytes, 4 * one.recorded_bytes);
  EXPECT_EQ(beside.process_bytes - one.process_bytes, 3 * kProductWorkspaceBytes);
  EXPECT_EQ(beside.gradients_bytes - one.gradients_bytes, 4 * one.weights_bytes) << "four leaves";
  EXPECT_EQ(estimate("numerics.cuda_graph=branches", 4).recorded_bytes, 2 * one.recorded_bytes);
}

TEST(DryRun, EstimatesBillionsOfParametersAndChunksWithoutAnyOnGpus) {
  const JobSpec large = spec_of(
      "model: {family: gat, resolution: 32, patch: 4, width: 4096, blocks: 64, latent: 64}\n"
      "training: {batch: 4, microbatches: 1}\nnumerics: {device: cuda}");
  std::int64_t parameters = 0;
  for (const Architecture& network : large.architectures()) {
    parameters += num_parameters(network);
  }
  EXPECT_EQ(estimate_memory(large, 1).gradients_bytes, 5 * parameters);  // 4, and 8 of 8 buckets
  const JobSpec cut = spec_of(
      "model: {family: unet, width: 4, channels: 3}\ndata: {source: 'pairs:x'}\n"
      "training: {recipe: pix2pix, batch: 6, microbatches: 3}\nnumerics: {device: cuda}\n"
      "layout: {cuts: {generator: [6, 7]}}");  // block 6 joins two tensors
  EXPECT_GT(estimate_workers(cut, resolve_layout(cut, 3))[1].host_bytes, kDeviceProcessBytes);
}

TEST(DryRun, EstimatesWhatEachResidualBlockKeeps) {
  const auto activations = [](const std::string& model) {
    return estimate_memory(spec_of("model: {family: r3gan, " + model + "}"), 1).activations_bytes;
  };
  const std::int64_t none = 32 * 32;  // elements of the image itself
  const std::int64_t one = activations("blocks: 1");
  const std::int64_t two = activations("blocks: 2");
  const std::int64_t per_element = 4 * 4 * 2 * 64;  // bytes, copies, networks, images
  EXPECT_EQ(one, per_element * (none + (4 * 4 + 8 * 8 + 16 * 16 + 32 * 32) * 5 * 64));
  EXPECT_EQ(two - per_element * none, 2 * (one - per_element * none));
  EXPECT_GT(activations("width: 128"), activations("width: 64"));
}

TEST(DryRun, EstimatesTokensAndTheAttentionBetweenThem) {
  const auto activations = [](const std::string& model) {
    return estimate_memory(spec_of("model: {family: gat, width: 48, " + model + "}"), 1)
        .activations_bytes;
  };
  const std::int64_t per_element = 4 * 4 * 2 * 64;  // bytes, copies, networks, images
  EXPECT_EQ(activations("blocks: 3"),
            per_element * (32 * 32 + 3 * 65 * (6 * 48 + 3 * 128 + 1 * 65)));
  EXPECT_GT(activations("patch: 2"), 4 * activations("patch: 4") - per_element * 32 * 32 * 4);
}

TEST(DryRun, EstimatesMapsAndTheAttentionOfPixels) {
  const auto activations = [](const std::string& model) {
    return estimate_memory(spec_of("model: {family: biggan, width: 2" + model + "}"), 1)
        .activations_bytes;
  };
  const std::int64_t per_element = 4 * 4 * 2 * 64;  // bytes, copies, networks, images
  EXPECT_EQ(activations(""), per_element * (32 * 32 * (1 + 16) + 16 * 16 * 24 + 2 * 8 * 8 * 24));
  EXPECT_EQ(activations(", attention: 16") - activations(""), per_element * 256 * 64);
}

TEST(DryRun, EstimatesWhatHalvingKeeps) {
  const std::int64_t activations =
      estimate_memory(spec_of("model: {family: stylegan2, width: 8}"), 1).activations_bytes;
  const auto halving = [](std::int64_t side, std::int64_t in) {
    return side * side * 2 * in + side * side / 4 * (in + 4 * in);
  };
  const std::int64_t per_element = 4 * 4 * 2 * 64;  // bytes, copies, networks, images
  EXPECT_EQ(activations,
            per_element * (32 * 32 * 9 + halving(32, 8) + halving(16, 16) + halving(8, 32)));
}

TEST(DryRun, CountsTwoBytesForFeatureMapsInFewerBits) {
  const auto activations = [](const std::string& precision) {
    return estimate_memory(spec_of("", {"numerics.precision=" + precision}), 1).activations_bytes;
  };
  EXPECT_EQ(2 * activations("bf16"), activations("fp32"));
  EXPECT_EQ(activations("fp16"), activations("bf16"));
  EXPECT_EQ(4 * activations("{generator: bf16}"), 3 * activations("fp32"));
}

TEST(DryRun, CountsATeachersWeightsAndTheMapsOfItsForward) {
  const auto memory = [](const std::string& key) {
    return estimate_memory(spec_of("model: {width: 8}\ntraining: {recipe: distill}\n"
                                   "teacher: {weights: x.safetensors}",
                                   {key}),
                           1);
  };
  const MemoryEstimate narrow = memory("model.teacher_width=16");
  const MemoryEstimate wide = memory("model.teacher_width=32");
  const std::int64_t per_element = 4 * 64;  // bytes, images
  const MemoryEstimate alone = estimate_memory(spec_of("model: {width: 8}"), 1);
  EXPECT_EQ(narrow.activations_bytes - alone.activations_bytes,
            per_element * (32 * 32 + 2 * 16 * 16 * 16));
  EXPECT_EQ(wide.activations_bytes - narrow.activations_bytes, per_element * 2 * 16 * 16 * 16);
  const auto parameters = [](const char* model) {
    const JobSpec job = spec_of(model);
    return num_parameters(job.architectures()[job.id_of("generator")]);
  };
  EXPECT_EQ(wide.weights_bytes - narrow.weights_bytes,
            4 * (parameters("model: {width: 32}") - parameters("model: {width: 16}")));
}

TEST(DryRun, CountsPoolsOfAllMicrobatches) {
  const auto pools = [](const std::string& more) {
    const std::string text =
        "model: {family: cyclegan}\ndata: {source: 'unpaired:x'}\n"
        "training: {recipe: cyclegan, microbatches: 4, pool: 50}";
    return estimate_memory(spec_of(text, {more}), 2).pools_bytes;
  };
  EXPECT_EQ(pools("training.microbatches=4"), 4 * 2 * 50 * 32 * 32 * 4);
  EXPECT_EQ(pools("training.pool=0"), 0);
}

TEST(DryRun, CountsOfAChunkItsOwnGradientsAndWhatWaitsForItsBackward) {
  const auto memory = [](int workers, const std::vector<std::string>& more) {
    return estimate_memory(spec_of("training: {batch: 64, microbatches: 8}", more), workers);
  };
  const MemoryEstimate whole = memory(1, {});
  const MemoryEstimate cut =
      memory(2, {"layout.stages=2", "layout.cuts.discriminator=[]", "layout.cuts.generator=[1]"});
  EXPECT_LT(cut.gradients_bytes, whole.gradients_bytes);
  EXPECT_GT(cut.activations_bytes, whole.activations_bytes);
  const MemoryEstimate both = memory(2, {"layout.stages=2"});
  const MemoryEstimate rows = memory(4, {"layout.stages=2"});
  EXPECT_LT(both.optimizer_bytes, whole.optimizer_bytes);
  EXPECT_NEAR(2.0 * static_cast<double>(rows.activations_bytes),
              static_cast<double>(both.activations_bytes), 16.0);
  const MemoryEstimate apart = memory(2, {"layout.generator=[1]", "layout.discriminator=[2]"});
  EXPECT_LT(apart.gradients_bytes, whole.gradients_bytes);
  EXPECT_EQ(apart.activations_bytes, 4 * whole.activations_bytes);
}

TEST(DryRun, SaysWhereStagesNeedMoreThanWholeNetworks) {
  const auto text = [](const std::vector<std::string>& more) {
    return describe_dry_run(
        spec_of("training: {batch: 512, microbatches: 8}\nlayout: {stages: 2}", more), 2);
  };
  const char* const line = " on as many workers with whole networks; ";
  EXPECT_NE(text({}).find(line), std::string::npos);
  EXPECT_EQ(text({"layout.in_flight=1"}).find(line), std::string::npos);
}

TEST(DryRun, CountsOfWhatIsMadeAgainOneMicrobatchAndWhatCrossesCuts) {
  const auto activations = [](int microbatches, const std::vector<std::string>& more) {
    std::vector<std::string> keys{"layout.stages=2",
                                  fmt::format("training.microbatches={}", microbatches),
                                  fmt::format("training.batch={}", 8 * microbatches)};
    keys.insert(keys.end(), more.begin(), more.end());
    return estimate_memory(spec_of("", keys), 2).activations_bytes;
  };
  const std::string recompute = "layout.recompute=true";
  EXPECT_LT(activations(8, {recompute}), activations(8, {}) * 3 / 4);
  EXPECT_GT(activations(16, {recompute}), activations(8, {recompute}));
  // With one micro-batch recomputation saves nothing, and costs nothing.
  EXPECT_LE(activations(1, {recompute}), activations(1, {}));
}

TEST(DryRun, TellsWhatMakingAgainSavesWhereItDoes) {
  const auto text = [](const std::vector<std::string>& keys) {
    return describe_dry_run(spec_of("", keys), 1);
  };
  const std::vector<std::string> transformer{"model.family=gat", "model.width=64", "model.patch=4",
                                             "training.batch=128"};
  const char* const line = "(with layout.recompute, for about a third more time, ";
  EXPECT_NE(text(transformer).find(line), std::string::npos);
  EXPECT_EQ(text({"training.batch=512"}).find(line), std::string::npos);
}

TEST(DryRun, EstimatesLittleForPoints) {
  const JobSpec spec = spec_of("model: {family: mlp, latent: 2}\ndata: {source: 'toy:ring8'}");
  EXPECT_LT(estimate_memory(spec, 1).activations_bytes,
            estimate_memory(spec_of(""), 1).activations_bytes / 10);
  EXPECT_NE(describe_dry_run(spec, 1).find(" MiB\n"), std::string::npos);
}

}  // namespace
}  // namespace gangway
